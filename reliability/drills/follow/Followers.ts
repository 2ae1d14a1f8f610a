/** Clients that follow events, and lose their connection at random: in a page, in a stream, or while they wait. */
import { MessagingCrm } from "@messaging-crm/client"

export interface Followed {
  /** The IDs of the events, in the order in which they were received. */
  readonly ids: Array<string>
  /** When each was first received, in milliseconds of `performance.now()`. */
  readonly received_at: Map<string, number>
  reconnects: number
}

interface Options {
  readonly base_url: string
  readonly key: string
  readonly after: string
  readonly random: () => number
  /** How many events there are; infinite while they are written. */
  readonly total: () => number
  readonly signal: AbortSignal
}

/** The longest time of a connection. */
const connection_millis_max = 1500

/** Follows events until all are received or the signal aborts. It alternates between pages and streams. */
export const follow = async ({ after, base_url, key, random, signal, total }: Options): Promise<Followed> => {
  const crm = new MessagingCrm({ apiKey: key, baseUrl: base_url })
  const followed: Followed = { ids: [], received_at: new Map(), reconnects: 0 }
  let cursor = after
  const record = (id: string) => {
    followed.ids.push(id)
    if (!followed.received_at.has(id)) followed.received_at.set(id, performance.now())
  }
  const isComplete = () => followed.ids.length >= total()

  /** Reads pages, of which some are lost after they were received. */
  const readPages = async (lost: AbortSignal) => {
    const page_size = 50 + Math.floor(random() * 51)
    for await (
      const { data, next_cursor } of crm.events.follow({ after: cursor, page_size }, { signal: lost }).pages()
    ) {
      if (random() < 0.02) return
      for (const { id } of data) record(id)
      cursor = next_cursor
      if (isComplete()) return
    }
  }

  /** Reads a stream, which can end before any event. */
  const readStream = async (lost: AbortSignal) => {
    const events = crm.events.stream({ after: cursor }, { signal: lost })
    try {
      for await (const { id } of events) {
        if (random() < 0.0005) return
        record(id)
        if (isComplete()) return
      }
    } finally {
      cursor = events.cursor
    }
  }

  while (!isComplete() && !signal.aborted) {
    const lost = AbortSignal.any([AbortSignal.timeout(Math.ceil(random() * connection_millis_max)), signal])
    const read = random() < 0.5 ? readPages : readStream
    await read(lost).catch((error: unknown) => {
      if (!lost.aborted) throw error
    })
    followed.reconnects += 1
  }
  return followed
}
