/** The rules of contract §6 for lists: their order, their filters, and that a complete list contains every object. */
import type { Resource, Violation } from "../../History.ts"
import { fieldOf, isSuccess, listOf, resourcesIn, textOf } from "../../Responses.ts"
import type { Evidence, Kind, Observation } from "../Evidence.ts"
import { type CompletedCall, isCompleted } from "../Requests.ts"

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

/** Returns whether a row passes a filter. Filters that search texts are not checked. */
const filtered: Readonly<Record<string, (row: Resource, expected: string) => boolean>> = {
  status: (row, expected) => expected === "all" || row["status"] === expected,
  type: (row, expected) => row["type"] === expected,
  assigned_user_id: (row, expected) => row["assigned_user_id"] === expected,
  unassigned: (row) => row["assigned_user_id"] === null,
  contact_id: (row, expected) => fieldOf(row, "contact", "id") === expected,
  channel_id: (row, expected) => fieldOf(row, "channel", "id") === expected,
  conversation_id: (row, expected) => row["conversation_id"] === expected,
  owner_user_id: (row, expected) => row["owner_user_id"] === expected,
  lifecycle_stage: (row, expected) => row["lifecycle_stage"] === expected,
  tag_id: (row, expected) => listOf(row, "tags").some(({ id }) => id === expected)
}

const isFiltered = ({ parameters, rows }: Page): boolean =>
  Array.from(parameters).every(([name, expected]) => {
    const passes = filtered[name]
    return passes === undefined || rows.every((row) => passes(row, expected))
  })

/** Returns the objects of earlier responses that a complete list does not contain. */
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
      : { rule: "A list is ordered, and contains nothing twice (contract §6.1).", detail, calls: [index] },
    isFiltered(page)
      ? []
      : { rule: "A list contains only rows that pass its filters (contract §6).", detail, calls: [index] },
    missing === undefined ? [] : {
      rule: "A complete list contains every object (contract §6.2).",
      detail: `${detail} does not contain ${missing.resource["id"]}`,
      calls: [missing.call ?? index, index]
    }
  ].flat()
}

export const check = (evidence: Evidence): ReadonlyArray<Violation> =>
  pagesOf(evidence).flatMap((page) => checkPage(page, evidence))
