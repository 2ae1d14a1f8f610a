/** The webhook endpoints of a run: most respond at once, some fail for hours, and some return 410. */
import { type WebhookRequest, WebhookRequestFailed, type WebhookTransport } from "@messaging-crm/core/WebhookTransport"
import { Effect } from "effect"
import type { Host } from "./Host.ts"
import type { Scene } from "./Store.ts"

/** A request that an endpoint received. */
export interface Post {
  readonly url: string
  readonly event_id: string
  readonly body: string
  /** Whether the endpoint responded with success. */
  readonly is_accepted: boolean
}

export interface Endpoints {
  readonly transport: (host: Host) => WebhookTransport["Service"]
  readonly posts: ReadonlyArray<Post>
}

const hour = 3_600_000

type Mode = "unreachable" | "failing" | "gone" | "slow" | "healthy"

const modes = ["unreachable", "failing", "gone", "slow", "healthy", "healthy", "healthy"] as const

interface State {
  readonly scene: Scene
  readonly posts: Array<Post>
  /** The mode of each URL, and the time at which the mode ends. */
  readonly modes: Map<string, { readonly mode: Mode; readonly until: number }>
}

/** Returns the mode of an endpoint, which changes every few hours. An endpoint is healthy while there are no faults. */
const modeOf = ({ modes: current, scene: { faults, random, timeline: { now } } }: State, url: string): Mode => {
  const known = current.get(url)
  if (known?.mode === "gone") return "gone"
  if (faults().failed_post === 0) return "healthy"
  if (known !== undefined && known.until > now()) return known.mode
  const mode = random.pick(modes)
  const hours = mode === "unreachable" ? random.pick([1, 12, 150]) : random.between(1, 48)
  current.set(url, { mode, until: now() + hours * hour })
  return mode
}

const statusOf = ({ faults, random }: Scene, mode: Mode): number => {
  if (mode === "gone") return 410
  if (mode === "failing") return random.pick([500, 503, 429, 404])
  return random.chance(faults().failed_post) ? random.pick([500, 429]) : random.pick([200, 204])
}

/** Posts a request of one process to an endpoint. */
const post = Effect.fnUntraced(function*(state: State, host: Host, { body, headers, url }: WebhookRequest) {
  const { faults, random, timeline, trace } = state.scene
  const mode = modeOf(state, url)
  const fail = (failure_code: WebhookRequestFailed["failure_code"]) => new WebhookRequestFailed({ failure_code })
  yield* timeline.wait(mode === "slow" ? random.between(1000, 14_000) : random.between(5, 80))
  if (mode === "unreachable") return yield* fail("connection_refused")
  const status = statusOf(state.scene, mode)
  const event_id = headers["webhook-id"] ?? ""
  state.posts.push({ url, event_id, body, is_accepted: status < 300 })
  trace.add("endpoint", `${status} for ${event_id} of ${host.name} at ${url}`)
  if (!host.is_alive) return yield* Effect.never
  if (random.chance(faults().failed_post / 2)) return yield* fail("connection_reset")
  return { status, body: "", retry_after: status === 429 ? random.pick([null, "60", "7200"]) : null }
})

export const make = (scene: Scene): Endpoints => {
  const state: State = { scene, posts: [], modes: new Map() }
  return { transport: (host) => ({ post: (request) => post(state, host, request) }), posts: state.posts }
}
