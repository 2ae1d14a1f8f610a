/** The requests of clients: each client repeats a request with the same key until it gets a final response. */
import * as WorldInspection from "@messaging-crm/adapter-memory/WorldInspection"
import { Effect, Option } from "effect"
import type { TestOrganization } from "../../packages/server/testing/TestOrganization.ts"
import { assertInvariant } from "./CommitInvariants.ts"
import type { Request, Response } from "./HttpInMemory.ts"
import type { Process } from "./Processes.ts"
import type { Scene, SharedStore } from "./Store.ts"

/** A write with its final response: a repetition with its key gets the same response. */
export interface CompletedRequest {
  readonly request: Request
  readonly response: Response
  readonly at: number
}

/** The state that the clients share. */
export interface ClientState {
  readonly scene: Scene
  readonly organization: TestOrganization
  readonly shared: SharedStore
  /** Returns a process that can respond, or null. */
  readonly target: () => Process | null
  readonly completed: Array<CompletedRequest>
  /** The number of writes so far, which makes keys and URLs unique. */
  written: number
}

export const second = 1000
export const hour = 3_600_000

/** Returns whether a client repeats its request after a response. */
const isTemporary = ({ has_retry_after, status }: Response): boolean => status >= 500 || has_retry_after

/** Sends a request once, and returns its response; null if the response is lost. */
const attempt = Effect.fnUntraced(function*({ scene, shared, target }: ClientState, request: Request) {
  const process = target()
  if (process === null) return null
  const before = shared.faults
  const response = yield* process.request(request)
  if (response === null || scene.random.chance(scene.faults().lost_connection)) return null
  scene.trace.add("client", `${request.method} ${request.path} ${response.status} ${response.text.slice(0, 120)}`)
  assertInvariant(
    response.status < 500 || response.status === 503 || shared.faults > before,
    `${request.method} ${request.path} responds ${response.status} without a fault: ${response.text}`
  )
  return response
})

/** Repeats a request until it has a final response, and returns the data of a success. */
export const send = Effect.fnUntraced(function*(client: ClientState, method: string, path: string, json?: unknown) {
  const { completed, organization, scene: { timeline } } = client
  const keyed = method === "GET" ? {} : { "idempotency-key": `request-${++client.written}-of-a-client` }
  const headers = { authorization: `Bearer ${organization.key}`, ...keyed }
  const request: Request = json === undefined ? { method, path, headers } : { method, path, headers, json }
  for (let tries = 0;; tries++) {
    const response = yield* attempt(client, request)
    if (response !== null && !isTemporary(response)) {
      if (method !== "GET") completed.push({ request, response, at: timeline.now() })
      const isSuccess = response.status < 300 && response.text !== ""
      return isSuccess ? JSON.parse(response.text).data : null
    }
    yield* timeline.wait(Math.min(2 ** tries, 60) * second)
  }
})

/** Returns whether a response is stored under a key. The replay of a request without a change has no stored response. */
const isRecorded = ({ organization: { organization_id }, shared }: ClientState, key: string): boolean =>
  Option.exists(
    WorldInspection.get(shared.rows().tables, WorldInspection.IdempotencyRows, organization_id, key),
    ({ body }) => body !== null
  )

/** Repeats a completed write, whose response must be equal. */
export const repeatCompleted = Effect.fnUntraced(function*(client: ClientState) {
  const { completed, scene: { random, timeline } } = client
  const one = completed[Math.floor(random.next() * completed.length)]
  if (one === undefined || timeline.now() - one.at > 23 * hour) return
  const again = yield* attempt(client, one.request)
  if (again === null || isTemporary(again)) return
  assertInvariant(again.status === one.response.status, `${one.request.path} is replayed with ${again.status}`)
  const isStored = isRecorded(client, one.request.headers["idempotency-key"] ?? "")
  assertInvariant(!isStored || again.text === one.response.text, `${one.request.path} is replayed with ${again.text}`)
})
