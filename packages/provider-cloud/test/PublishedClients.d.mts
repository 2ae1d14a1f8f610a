interface Network {
  readonly url: string
  readonly token: string
  /** The ID of the business account. */
  readonly account: string
  /** The ID of the number. */
  readonly number: string
}

/** What both clients can do. A rejected call gives the code of the network's error. */
interface PublishedClient {
  readonly sendText: (to: string, body: string) => Promise<
    { readonly id: string; readonly input: string; readonly wa_id: string }
  >
  readonly sendTemplate: (name: string, ...texts: ReadonlyArray<string>) => Promise<string>
  readonly rejectedTemplate: (name: string, ...texts: ReadonlyArray<string>) => Promise<number | null>
  readonly rejectedText: (body: string) => Promise<number | null>
  readonly markRead: (message_id: string) => Promise<boolean>
  readonly templates: (filters: Readonly<Record<string, string | number>>) => Promise<ReadonlyArray<string>>
  readonly template: (id: string) => Promise<string>
  readonly upload: (bytes: Uint8Array<ArrayBuffer>, mime_type: string) => Promise<string>
  readonly link: (id: string) => Promise<
    { readonly file_size: number; readonly mime_type: string; readonly sha256: string; readonly url: string }
  >
  readonly download: (id: string) => Promise<Uint8Array>
  readonly remove: (id: string) => Promise<boolean>
  readonly rejectedMedia: (id: string) => Promise<number | null>
  readonly profile: () => Promise<Readonly<Record<string, unknown>>>
  readonly setProfile: (about: string) => Promise<boolean>
}

export const kapso: (network: Network) => PublishedClient
export const greatDetail: (network: Network) => PublishedClient
