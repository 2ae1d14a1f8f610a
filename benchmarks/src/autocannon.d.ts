/** What we use of autocannon, which brings no types. */
declare module "autocannon" {
  export interface Request {
    readonly method?: string
    readonly path?: string
    readonly headers?: Readonly<Record<string, string>>
    readonly body?: string
  }

  export interface Options {
    readonly url: string
    readonly connections: number
    readonly duration: number
    readonly reconnectRate: number
    readonly requests: ReadonlyArray<Request & { readonly setupRequest: (request: Request) => Request }>
  }

  export interface Result {
    readonly errors: number
    readonly timeouts: number
    readonly non2xx: number
    readonly duration: number
  }

  export interface Instance extends PromiseLike<Result> {
    readonly on: (
      event: "response",
      listener: (client: unknown, status: number, bytes: number, milliseconds: number) => void
    ) => void
  }

  export default function autocannon(options: Options): Instance
}
