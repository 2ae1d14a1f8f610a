/**
 * The console: an inbox in the browser, over the public REST API. With a `Monitor` it also shows what happens in a
 * service in development.
 *
 * The API key stays on the server: the page requests named operations, which the server runs with the client.
 */
import { type Fetch, MessagingCrm, type Retry, type WebhookEvent } from "@messaging-crm/client"
import { Feed } from "./Feed.ts"
import { fileOf } from "./Files.ts"
import { rejectionOf } from "./Guard.ts"
import type { Monitor } from "./Monitor.ts"
import * as Operations from "./Operations.ts"
import { failure, json, pageOf, reject, respond } from "./Responses.ts"

export type { Feed } from "./Feed.ts"
export { Monitor } from "./Monitor.ts"
export type { CustomerMessage } from "./Operations.ts"
export type { CompletedRequest, SendReport } from "./StreamMessages.ts"

/** The additions of a service in development. */
export interface Development {
  readonly monitor: Monitor
  /** Receives a message as if the network had delivered it; null if the network is not simulated. */
  readonly writeAsCustomer: ((message: Operations.CustomerMessage) => Promise<void>) | null
}

/** A person who has logged in to the server that shows the console. */
export interface Visitor {
  readonly name: string
  /** The member of the organization who the person is, whose conversations the page can list as **Mine**. */
  readonly member_id?: string
  /** The token that the page sends with each operation, in the header `x-csrf-token`. The server checks it. */
  readonly token: string
  /** Calls the service on behalf of the person, instead of the `fetch` of the console. */
  readonly fetch: Fetch
}

export interface ConsoleOptions {
  readonly apiKey: string
  /** The service's address with the version, such as `http://127.0.0.1:3000/v1`. */
  readonly baseUrl: string
  /** The path of the page, such as `/inbox`. Everything below it belongs to the console. */
  readonly path: string
  /** The host names, without ports, of the console. Requests to another host are rejected. */
  readonly hosts: ReadonlyArray<string>
  readonly title?: string
  /** A replacement for the global `fetch`, which calls the service. */
  readonly fetch?: Fetch
  /** The maximum number of open pages, 100 by default. A further one ends the stream of the oldest. */
  readonly pagesMax?: number
  readonly development?: Development
}

export interface Console {
  /**
   * Responds to a request for the console's path, or for a path below it. Check the user's permission first. The page of a
   * visitor has their name and a button that posts to `logout` below the console's path. It then opens the `location` in the response's JSON,
   * or `logged-out` below the path if the response is 204.
   */
  readonly handle: (request: Request, visitor?: Visitor) => Promise<Response>
  /** Sends an event that a webhook received to every page, which then updates itself. */
  readonly publish: (event: WebhookEvent) => void
  /** Returns the number of open pages. */
  readonly countPages: () => number
  /** Ends the streams of all pages, which connect again and read everything: for when events were not published. */
  readonly reconnect: () => void
  /** Ends the streams of all pages, and of those that are opened later. */
  readonly close: () => void
}

type Operation = (crm: MessagingCrm, input: never) => Promise<unknown>

/** Returns the operations that the page can request. */
const operationsOf = (development: Development | undefined): Readonly<Record<string, Operation>> => {
  if (development === undefined) return Operations.inbox
  const { writeAsCustomer } = development
  return {
    ...Operations.inbox,
    ...Operations.development,
    ...writeAsCustomer === null ? {} : Operations.simulated(writeAsCustomer)
  }
}

/** Runs an operation with the input of a request. */
const call = async (crm: MessagingCrm, operation: Operation | undefined, request: Request): Promise<Response> => {
  if (operation === undefined) return reject(404, "not_found", "The console does not support this operation.")
  try {
    // The service validates the input, which the client passes on.
    return json(await operation(crm, await request.json() as never))
  } catch (error) {
    return failure(error)
  }
}

/** The longest pause of a retry. */
const pause_millis_max = 5000

/** Fails a call that has to wait for longer, such as for the key's rate limit, so that the page shows the error. */
const failAfterLongPause = ({ error, pause }: Retry): void => {
  if (pause > pause_millis_max) throw error
}

/** Makes a console. Its handler takes a web `Request`, so it works in any server. */
export const makeConsole = (options: ConsoleOptions): Console => {
  const { baseUrl, development, hosts, pagesMax = 100, path, title = "Inbox" } = options
  const canWriteAsCustomer = (development?.writeAsCustomer ?? null) !== null
  const page = { baseUrl, path, title, isDevelopment: development !== undefined, canWriteAsCustomer }
  const clientWith = (caller: Pick<ConsoleOptions, "fetch"> = {}) =>
    new MessagingCrm({ ...options, ...caller, onRetry: failAfterLongPause })
  const crm = clientWith()
  const feed = development?.monitor.feed ?? new Feed(pagesMax)
  const operations = operationsOf(development)

  const handle = async (request: Request, visitor?: Visitor): Promise<Response> => {
    const rejection = rejectionOf(request, hosts)
    if (rejection !== null) return reject(403, "forbidden", rejection)
    const [, section = "", ...names] = new URL(request.url).pathname.slice(path.length).split("/")
    const name = names.join("/")
    if (request.method === "POST" && section === "call") {
      const ofVisitor = visitor === undefined ? crm : clientWith({ fetch: visitor.fetch })
      return call(ofVisitor, Object.hasOwn(operations, name) ? operations[name] : undefined, request)
    }
    if (request.method !== "GET") return reject(405, "method_not_allowed", "The method is not supported. Use GET.")
    if (section === "") return pageOf({ ...page, visitor })
    if (section === "page") return fileOf(name)
    if (section !== "stream") return reject(404, "not_found", "The console has no page at this path.")
    const stream = feed.connect("snapshot", development?.monitor.snapshot() ?? null)
    return respond(stream, 200, "text/event-stream", { "x-accel-buffering": "no" })
  }

  return {
    handle,
    publish: (event) => feed.publish("event", event),
    countPages: () => feed.size,
    reconnect: () => feed.endAll(),
    close: () => feed.close()
  }
}
