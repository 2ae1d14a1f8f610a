/** Checks that the programs do the same work: their responses must be the same. */
import { Effect } from "effect"
import { deepStrictEqual } from "node:assert"
import * as Population from "../load/Population.ts"
import type { Target } from "../load/Targets.ts"
import { numbered, type Request } from "../load/Workloads.ts"

interface Received {
  readonly status: number
  readonly body: {
    readonly data?: unknown
    readonly error?: { readonly code: string; readonly param: string | null }
  }
}

/** Sends a request, and returns its response. Only a write uses the idempotency key. */
const receive = (target: Target, { body, key, method, path }: Request, idempotency_key: string) =>
  Effect.promise(async (): Promise<Received> => {
    const headers: Record<string, string> = { authorization: `Bearer ${key}` }
    if (body !== undefined) {
      Object.assign(headers, { "content-type": "application/json", "idempotency-key": idempotency_key })
    }
    const url = `http://127.0.0.1:${target.port}/v1${path}`
    const init = body === undefined ? { method, headers } : { method, headers, body: body.join(numbered(1)) }
    const response = await fetch(url, init)
    return { status: response.status, body: JSON.parse(await response.text()) }
  })

/** Sends a request, whose response must be 2xx. */
export const send = Effect.fnUntraced(function*(target: Target, request: Request, idempotency_key: string) {
  const response = yield* receive(target, request, idempotency_key)
  if (response.status < 300) return response
  const text = JSON.stringify(response.body)
  return yield* Effect.die(new Error(`${target.name}: ${request.method} ${request.path}: ${response.status} ${text}`))
})

/** Fields that each program generates, so that they differ between two programs. */
const generated_fields = new Set(["id", "created_at", "updated_at"])

/** Removes the generated fields from the response to a write, and the cursor from a list. */
const comparable = (request: Request, { body: { data }, status }: Received) => ({
  status,
  data: request.body === undefined || typeof data !== "object" || data === null
    ? data
    : Object.fromEntries(
      Object.entries(data).map(([name, value]) => [name, generated_fields.has(name) ? typeof value : value])
    )
})

/** Sends each target some of its requests, whose responses must be 2xx and the same, for a repetition too. */
export const compare = Effect.fnUntraced(function*(
  title: string,
  targets: ReadonlyArray<readonly [Target, ReadonlyArray<Request>]>
) {
  for (const index of [0, 1, 2]) {
    const responses = yield* Effect.forEach(targets, ([target, requests]) =>
      Effect.gen(function*() {
        const request = requests[index]
        if (request === undefined) return yield* Effect.die(new Error(`There are too few requests: ${title}`))
        const response = yield* send(target, request, `check-${title}-${index}`)
        const repetition = yield* send(target, request, `check-${title}-${index}`)
        deepStrictEqual(repetition.body.data, response.body.data, `A repetition differs: ${title}, ${target.name}`)
        return comparable(request, response)
      }))
    for (const response of responses) deepStrictEqual(response, responses[0], `The responses differ: ${title}`)
  }
})

const key = Population.key(1)
const contact = `/contacts/${Population.id("contact", Population.step(1000))}`
const absentContact = `/contacts/${Population.id("contact", 0)}`
const absentConversation = `/conversations/${Population.id("conversation", 0)}/messages`

/** Requests that are rejected, each by a different check. */
const invalidRequests: ReadonlyArray<Request> = [
  { method: "GET", path: contact, key: Population.key(0) },
  { method: "GET", path: absentContact, key },
  { method: "GET", path: absentConversation, key },
  { method: "GET", path: "/contacts/anna", key },
  { method: "GET", path: "/contacts?page_size=101", key },
  { method: "GET", path: "/contacts?colour=red", key },
  { method: "GET", path: "/contacts?cursor=here", key },
  { method: "PATCH", path: contact, key, body: [`{"job_title":"`, `","unknown_field":"Ann"}`] },
  { method: "PATCH", path: contact, key, body: [`{"job_title":"`, `","lifecycle_stage":"friend"}`] },
  { method: "PATCH", path: contact, key, body: [`{"job_title":"`, `","tag_ids":["${Population.id("tag", 0)}"]}`] },
  { method: "PATCH", path: contact, key, body: [`{"job_title":"`, `"`] },
  { method: "PATCH", path: absentContact, key, body: [`{"job_title":"`, `"}`] },
  { method: "POST", path: absentConversation, key, body: [`{"type":"text","text":"`, `"}`] },
  // The key of a request that was accepted before.
  { method: "PATCH", path: contact, key, body: [`{"job_title":"Another `, `"}`] }
]

/** Sends the targets requests that they must reject in the same way. */
export const compareRejections = Effect.fnUntraced(function*(targets: ReadonlyArray<Target>) {
  for (const [index, request] of invalidRequests.entries()) {
    const idempotency_key = index === invalidRequests.length - 1 ? "check-update-0" : `check-rejected-${index}`
    const responses = yield* Effect.forEach(
      targets,
      (target) =>
        Effect.map(receive(target, request, idempotency_key), ({ body: { error }, status }) => ({
          status,
          code: error?.code,
          param: error?.param
        }))
    )
    for (const response of responses) {
      deepStrictEqual(
        response,
        responses[0],
        `The rejections differ: ${request.method} ${request.path} ${request.body?.join("")}`
      )
    }
  }
})
