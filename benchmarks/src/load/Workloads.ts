/** The requests that are measured. Service and baseline get the same ones. */
import * as Population from "../load/Population.ts"

/** A request. A number makes each repetition of a write another one. */
export interface Request {
  readonly method: "GET" | "PATCH" | "POST"
  /** After `/v1`. */
  readonly path: string
  readonly key: string
  /** The body of a write before and after a number of eight digits. */
  readonly body?: readonly [string, string]
}

export interface Workload {
  readonly name: string
  readonly title: string
  /** Makes the requests. `cursor` is the one of the 200th page, or of the last that is full. */
  readonly requests: (contacts: number, cursor: string) => ReadonlyArray<Request>
}

const range = (length: number): ReadonlyArray<number> => Array.from({ length }, (_, index) => index)

const keyAt = (index: number): string => Population.key(1 + index * 7 % Population.key_count)

/** The number of a named contact. */
const numberAt = (contacts: number, index: number): number => (1 + index) * Population.step(contacts)

const reads = (count: number, path: (index: number) => string): ReadonlyArray<Request> =>
  range(count).map((index) => ({ method: "GET", path: path(index), key: keyAt(index) }))

export const workloads: ReadonlyArray<Workload> = [
  {
    name: "read",
    title: "read a contact",
    requests: (contacts) =>
      reads(Population.named_count, (index) => `/contacts/${Population.id("contact", numberAt(contacts, index))}`)
  },
  { name: "list", title: "list 50 contacts", requests: () => reads(64, () => "/contacts?page_size=50") },
  {
    name: "page",
    title: "list 50 contacts, page 200",
    requests: (_contacts, cursor) => reads(64, () => `/contacts?page_size=50&cursor=${encodeURIComponent(cursor)}`)
  },
  {
    name: "search",
    title: "search for a text, 20 matches",
    requests: () => reads(200, (index) => `/contacts?query=${Population.words[index % Population.words.length]}`)
  },
  {
    name: "filter",
    title: "filter by tag and stage (1 in 80 contacts matches)",
    requests: () =>
      reads(64, (index) => {
        const stage = Population.stages[index % Population.stages.length]
        return `/contacts?tag_id=${Population.id("tag", 1 + index % 10)}&lifecycle_stage=${stage}`
      })
  },
  {
    name: "messages",
    title: "list 50 messages",
    requests: (contacts) =>
      reads(160, (index) => {
        const number = numberAt(contacts, index % Population.long_count)
        return `/conversations/${Population.id("conversation", number)}/messages`
      })
  },
  {
    name: "update",
    title: "update a contact, idempotent",
    requests: (contacts) =>
      range(Population.named_count).map((index) => ({
        method: "PATCH",
        path: `/contacts/${Population.id("contact", numberAt(contacts, index))}`,
        key: keyAt(index),
        body: [
          `{"job_title":"Title `,
          `","city":"Rotterdam","custom_values":{"${Population.id("field", 1)}":"value 1"}}`
        ]
      }))
  },
  {
    name: "send",
    title: "send a text, idempotent",
    requests: (contacts) =>
      range(Population.named_count).map((index) => ({
        method: "POST",
        path: `/conversations/${Population.id("conversation", numberAt(contacts, index))}/messages`,
        key: keyAt(index),
        body: [`{"type":"text","text":"We are open on weekdays from nine to half past five. `, `"}`]
      }))
  }
]

const digits = 8

/**
 * Returns the text of a request in parts: joined by a number of eight digits, they
 * are a distinct request, with a distinct idempotency key and body.
 */
export const parts = ({ body, key, method, path }: Request, host: string, run: string): ReadonlyArray<string> => {
  const head = `${method} /v1${path} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${key}\r\n`
  if (body === undefined) return [`${head}\r\n`]
  const length = Buffer.byteLength(body.join("")) + digits
  const json = `Content-Type: application/json\r\nContent-Length: ${length}\r\n`
  return [`${head}${json}Idempotency-Key: ${run}-`, `\r\n\r\n${body[0]}`, body[1]]
}

/** Returns the text that makes the nth request of a run its own. */
export const numbered = (number: number): string => String(number).padStart(digits, "0")
