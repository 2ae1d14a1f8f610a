import type { Answered } from "./Attempt.ts"

/** A part of a list. The last one has no `next_cursor`; only that tells the end, not how full a page is. */
export interface Page<A> {
  readonly data: ReadonlyArray<A>
  readonly next_cursor: string | null
}

/**
 * A list that is read page by page, while it is iterated: `for await (const contact of crm.contacts.list())`.
 *
 * Nothing is asked for before it is read, and each reading starts anew.
 */
export class Pages<A> implements AsyncIterable<A> {
  readonly #read: (cursor: string | undefined) => Promise<Answered<Page<A>>>

  constructor(read: (cursor: string | undefined) => Promise<Answered<Page<A>>>) {
    this.#read = read
  }

  /** Reads one page: the first, or the one that the list's `cursor` names. */
  page(): Promise<Answered<Page<A>>> {
    return this.#read(undefined)
  }

  /** Reads page after page. */
  async *pages(): AsyncGenerator<Answered<Page<A>>, void, undefined> {
    let cursor: string | null | undefined
    while (cursor !== null) {
      const page: Page<A> & Answered<Page<A>> = await this.#read(cursor)
      yield page
      cursor = page.next_cursor
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<A, void, undefined> {
    for await (const page of this.pages()) yield* page.data
  }

  /** Reads items into an array, at most so many. */
  async toArray({ limit }: { readonly limit: number }): Promise<Array<A>> {
    const items: Array<A> = []
    if (limit <= 0) return items
    for await (const item of this) {
      items.push(item)
      if (items.length >= limit) break
    }
    return items
  }
}
