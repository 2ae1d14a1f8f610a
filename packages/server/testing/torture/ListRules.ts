/** The rules of contract §6 for lists: their order, their filters, and that a list that ends shows every object. */
import type { Evidence, Kind, Observation } from "./Evidence.ts"
import type { Resource, Violation } from "./History.ts"
import { type CompletedCall, fieldOf, isCompleted, isSuccess, listOf, resourcesIn, textOf } from "./Requests.ts"

interface List {
  readonly kind: Kind | "events"
  /** The time by which it is ordered, the newest first. */
  readonly by: string
}

const lists: Readonly<Record<string, List>> = {
  "contacts.list": { kind: "contacts", by: "updated_at" },
  "conversations.list": { kind: "conversations", by: "last_activity_at" },
  "events.list": { kind: "events", by: "timestamp" },
  "messages.list": { kind: "messages", by: "created_at" },
  "sends.list": { kind: "sends", by: "created_at" },
  "webhooks.list": { kind: "webhooks", by: "created_at" }
}

/** The list of webhooks ends with the 100 most recent. */
const webhooks_max = 100

interface Page extends List {
  readonly call: CompletedCall
  readonly rows: ReadonlyArray<Resource>
  /** The path before the query. */
  readonly path: string
  readonly parameters: URLSearchParams
}

const pagesOf = ({ history: { calls } }: Evidence): ReadonlyArray<Page> =>
  calls.filter(isCompleted).flatMap((call) => {
    const list = lists[call.operation]
    const [path = "", query = ""] = call.request.path.split("?")
    return list === undefined || !isSuccess(call.response)
      ? []
      : { ...list, call, path, rows: resourcesIn(call.response.body), parameters: new URLSearchParams(query) }
  })

const positionOf = (row: Resource, by: string): string => `${textOf(row, by)} ${textOf(row, "id")}`

const isOrdered = ({ by, rows }: Page): boolean =>
  rows.every((row, index) => {
    const before = rows[index - 1]
    return before === undefined || positionOf(before, by) > positionOf(row, by)
  })

/** How each filter reads a row. Filters that search texts are not judged. */
const filtered: Readonly<Record<string, (row: Resource, wanted: string) => boolean>> = {
  status: (row, wanted) => wanted === "all" || row["status"] === wanted,
  type: (row, wanted) => row["type"] === wanted,
  assigned_user_id: (row, wanted) => row["assigned_user_id"] === wanted,
  unassigned: (row) => row["assigned_user_id"] === null,
  contact_id: (row, wanted) => fieldOf(row, "contact", "id") === wanted,
  channel_id: (row, wanted) => fieldOf(row, "channel", "id") === wanted,
  conversation_id: (row, wanted) => row["conversation_id"] === wanted,
  owner_user_id: (row, wanted) => row["owner_user_id"] === wanted,
  lifecycle_stage: (row, wanted) => row["lifecycle_stage"] === wanted,
  tag_id: (row, wanted) => listOf(row, "tags").some(({ id }) => id === wanted)
}

const isFiltered = ({ parameters, rows }: Page): boolean =>
  Array.from(parameters).every(([name, wanted]) => {
    const passes = filtered[name]
    return passes === undefined || rows.every((row) => passes(row, wanted))
  })

/** Returns the objects that an earlier response showed, and that a list to its end does not. */
const missingIn = ({ call, kind, parameters, path, rows }: Page, observations: ReadonlyArray<Observation>) => {
  const isWhole = Array.from(parameters.keys()).every((name) => name === "page_size") &&
    fieldOf(call.response.body, "next_cursor") === null && rows.length < webhooks_max
  if (!isWhole) return []
  const shown = new Set(rows.map(({ id }) => id))
  return observations.filter(({ ended_at, organization, resource }) =>
    organization === call.organization && ended_at < call.started_at && !shown.has(resource["id"]) &&
    (kind !== "messages" || path.includes(String(resource["conversation_id"])))
  )
}

const checkPage = (page: Page, { observations }: Evidence): ReadonlyArray<Violation> => {
  const { call: { index, operation, request: { path } }, kind } = page
  const [missing] = kind === "events" ? [] : missingIn(page, observations[kind])
  const detail = `${operation} ${path}`
  return [
    isOrdered(page)
      ? []
      : { rule: "A list is ordered, and shows nothing twice (contract §6.1).", detail, calls: [index] },
    isFiltered(page)
      ? []
      : { rule: "A list shows only what passes its filters (contract §6).", detail, calls: [index] },
    missing === undefined ? [] : {
      rule: "A list to its end shows every object (contract §6.2).",
      detail: `${detail} does not show ${missing.resource["id"]}`,
      calls: [missing.call ?? index, index]
    }
  ].flat()
}

export const check = (evidence: Evidence): ReadonlyArray<Violation> =>
  pagesOf(evidence).flatMap((page) => checkPage(page, evidence))
