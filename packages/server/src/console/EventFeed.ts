/** Passes the events of the organization to the open pages of this process, whichever process has committed them. */
import { MessagingCrm } from "@messaging-crm/client"
import type { Console, ConsoleOptions } from "@messaging-crm/console"

interface Options {
  readonly baseUrl: string
  /** Calls the API with the scope to read events. */
  readonly fetch: NonNullable<ConsoleOptions["fetch"]>
  readonly pages: Pick<Console, "countPages" | "publish" | "reconnect">
  /** Reports why the events could not be followed further. */
  readonly onFailure: (error: unknown) => void
}

/** Follows the events while a page is open. */
export class EventFeed {
  private readonly pages: Options["pages"]
  private readonly onFailure: Options["onFailure"]
  private readonly crm: MessagingCrm
  private readonly stop = new AbortController()
  private started: Promise<void> | null = null

  constructor({ baseUrl, fetch, onFailure, pages }: Options) {
    this.pages = pages
    this.onFailure = onFailure
    this.crm = new MessagingCrm({ apiKey: "none", baseUrl, fetch })
  }

  /** Returns once all later events are passed on, so that a page that then reads its data misses none. */
  start(): Promise<void> {
    return this.started ??= new Promise((resolve, reject) => {
      this.follow(resolve).catch((error) => {
        reject(error)
        this.fail(error)
      })
    })
  }

  close(): void {
    this.stop.abort()
  }

  /** The open pages have missed events: when they connect again, they start another feed, and read everything. */
  private fail(error: unknown): void {
    // At once, as below.
    this.started = null
    if (this.stop.signal.aborted) return
    this.onFailure(error)
    this.pages.reconnect()
  }

  private async follow(onStart: () => void): Promise<void> {
    const { signal } = this.stop
    let isFirst = true
    for await (const { data } of this.crm.events.follow({ after: "now" }, { signal }).pages()) {
      for (const event of data) this.pages.publish(event)
      onStart()
      // The page of the caller opens after the first page of events, which only has the position `now`.
      if (!isFirst && this.pages.countPages() === 0) {
        // At once, so that no start finds a feed that has ended.
        this.started = null
        return
      }
      isFirst = false
    }
  }
}
