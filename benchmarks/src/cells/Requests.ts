/** The requests to organizations of cells: each of five kinds alone, or mixed. */
import * as Population from "../load/Population.ts"
import type { Organizations } from "../load/PopulationRows.ts"
import { parts, type Request } from "../load/Workloads.ts"

type Make = (organization: number, contacts: number, index: number) => Request

const keyOf = Population.key

/** The number of a named contact of an organization. */
const numberOf = (organization: number, contacts: number, index: number): number =>
  (organization - 1) * contacts + (1 + index % Population.named_count) * Population.step(contacts)

/** One request of each kind. The index selects its contact or text. */
const kinds = {
  read: (organization, contacts, index) => ({
    method: "GET",
    path: `/contacts/${Population.id("contact", numberOf(organization, contacts, index))}`,
    key: keyOf(organization)
  }),
  list: (organization) => ({ method: "GET", path: "/contacts?page_size=50", key: keyOf(organization) }),
  search: (organization, _contacts, index) => ({
    method: "GET",
    path: `/contacts?query=${Population.words[index % Population.words.length]}`,
    key: keyOf(organization)
  }),
  update: (organization, contacts, index) => ({
    method: "PATCH",
    path: `/contacts/${Population.id("contact", numberOf(organization, contacts, index))}`,
    key: keyOf(organization),
    body: [`{"job_title":"Title `, `","city":"Rotterdam"}`]
  }),
  send: (organization, contacts, index) => ({
    method: "POST",
    path: `/conversations/${Population.id("conversation", numberOf(organization, contacts, index))}/messages`,
    key: keyOf(organization),
    body: [`{"type":"text","text":"We are open on weekdays from nine to half past five. `, `"}`]
  })
} satisfies Record<string, Make>

export type Kind = keyof typeof kinds

/** Ten requests of the mixed load. */
export const mixed: ReadonlyArray<Kind> = [
  "read",
  "update",
  "list",
  "read",
  "search",
  "read",
  "send",
  "read",
  "update",
  "list"
]

/** The number of different contacts per kind and organization. */
const variants = 8

/** Returns the parts of requests, those of all organizations in turn. */
export const requestsOf = (
  ranges: ReadonlyArray<Organizations>,
  { kinds: names, port, run }: { readonly kinds: ReadonlyArray<Kind>; readonly port: number; readonly run: string }
): ReadonlyArray<ReadonlyArray<string>> => {
  const organizations = ranges.flatMap(({ contacts, first, last }) =>
    Array.from({ length: last - first + 1 }, (_, index) => ({ organization: first + index, contacts }))
  )
  return Array.from({ length: variants }, (_, variant) => variant).flatMap((variant) =>
    names.flatMap((kind, place) =>
      organizations.map(({ contacts, organization }) =>
        parts(kinds[kind](organization, contacts, variant * names.length + place), `127.0.0.1:${port}`, run)
      )
    )
  )
}
