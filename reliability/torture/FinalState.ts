/** Reads the part of the final state that the API and the audit of an organization return, from any source of histories. */
import { Audit } from "@messaging-crm/core/Audit"
import { Effect } from "effect"
import type { Resource } from "./History.ts"

export interface Page {
  readonly data: ReadonlyArray<Resource>
  readonly next_cursor: string | null
}

/** Converts rows to JSON, in which times are texts. */
export const toJson = (value: unknown): ReadonlyArray<Resource> => JSON.parse(JSON.stringify(value))

const audit_records_max = 1_000_000

/** Reads all audit records of an organization. */
export const readAudit = Effect.map(
  Audit.use((audit) =>
    audit.list({ resource_id: null, key_id: null, member_id: null, before: null }, audit_records_max)
  ),
  toJson
)

/** Reads every page of the lists of the API; `get` reads one page. */
export const readLists = Effect.fnUntraced(function*<E, R>(get: (path: string) => Effect.Effect<Page, E, R>) {
  const list = Effect.fnUntraced(function*(path: string) {
    const rows: Array<Resource> = []
    let page = yield* get(path)
    while (page.next_cursor !== null) {
      rows.push(...page.data)
      page = yield* get(`${path}${path.includes("?") ? "&" : "?"}cursor=${encodeURIComponent(page.next_cursor)}`)
    }
    return [...rows, ...page.data]
  })
  const conversations = yield* list("/conversations?page_size=100")
  const messages = yield* Effect.forEach(
    conversations,
    ({ id }) => Effect.map(list(`/conversations/${String(id)}/messages`), (rows) => [String(id), rows] as const)
  )
  return {
    contacts: yield* list("/contacts?page_size=100"),
    tags: yield* list("/tags"),
    conversations,
    messages: Object.fromEntries(messages),
    sends: yield* list("/sends?page_size=100"),
    events: yield* list("/events?page_size=100")
  }
})
