import type { WithResponse } from "./Attempt.ts"

/** A page of a list. Only `next_cursor: null` marks the last one; any page may be shorter than `page_size`, or empty. */
export interface Page<A> {
  readonly data: ReadonlyArray<A>
  readonly next_cursor: string | null
}

/**
 * A list that is read page by page, while it is iterated: `for await (const contact of crm.contacts.list())`.
 *
 * Pages are requested when they are needed: without an iteration, `page()`, `pages()`, or `toArray({ limit })`, nothing is
 * requested. `await` alone returns this object, not the items. Each iteration starts at the first page.
 */
export class Pages<A> implements AsyncIterable<A> {
  readonly #read: (cursor: string | undefined) => Promise<WithResponse<Page<A>>>

  constructor(read: (cursor: string | undefined) => Promise<WithResponse<Page<A>>>) {
    this.#read = read
  }

  /** Reads one page: the first, or the one at the `cursor` of the list's query. */
  page(): Promise<WithResponse<Page<A>>> {
    return this.#read(undefined)
  }

  /** Reads all pages, one after the other. */
  async *pages(): AsyncGenerator<WithResponse<Page<A>>, void, undefined> {
    let cursor: string | null | undefined
    while (cursor !== null) {
      const page: WithResponse<Page<A>> = await this.#read(cursor)
      yield page
      cursor = page.next_cursor
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<A, void, undefined> {
    for await (const page of this.pages()) yield* page.data
  }

  /** Reads at most `limit` items into an array. */
  async toArray(options: { readonly limit: number }): Promise<Array<A>> {
    // A program in JavaScript can omit it.
    const limit: unknown = (options as { readonly limit: number } | null | undefined)?.limit
    if (typeof limit !== "number" || Number.isNaN(limit)) {
      throw new TypeError("limit must be a number. Call toArray({ limit: 100 }).")
    }
    const items: Array<A> = []
    if (limit <= 0) return items
    for await (const item of this) {
      items.push(item)
      if (items.length >= limit) break
    }
    return items
  }
}
