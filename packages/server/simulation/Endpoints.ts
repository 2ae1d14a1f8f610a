/** The endpoints of webhooks in a run: most respond at once, some fail for hours, and some are gone for good. */
import { type WebhookRequest, WebhookRequestFailed, type WebhookTransport } from "@messaging-crm/core/WebhookTransport"
import { Effect } from "effect"
import type { Host } from "./Hosts.ts"
import type { Scene } from "./Store.ts"

export interface Post {
  readonly url: string
  readonly event_id: string
  readonly body: string
  /** Whether the endpoint responded with success. */
  readonly isAccepted: boolean
}

export interface Endpoints {
  readonly transport: (host: Host) => WebhookTransport["Service"]
  readonly posts: ReadonlyArray<Post>
}

const hour = 3_600_000

/** How an endpoint behaves until a time. */
type Mode = "dead" | "failing" | "gone" | "slow" | "well"

const modes = ["dead", "failing", "gone", "slow", "well", "well", "well"] as const

/** Makes endpoints. Each changes its behavior every few hours, and is well while there are no faults. */
export const make = ({ faults, random, timeline: { now, wait }, trace }: Scene): Endpoints => {
  const posts: Array<Post> = []
  const behaviors = new Map<string, { readonly mode: Mode; readonly until: number }>()

  const modeOf = (url: string): Mode => {
    const known = behaviors.get(url)
    if (known?.mode === "gone") return "gone"
    if (faults().failed_post === 0) return "well"
    if (known !== undefined && known.until > now()) return known.mode
    const mode = random.pick(modes)
    const hours = mode === "dead" ? random.pick([1, 12, 150]) : random.between(1, 48)
    behaviors.set(url, { mode, until: now() + hours * hour })
    return mode
  }

  const statusOf = (mode: Mode): number => {
    if (mode === "gone") return 410
    if (mode === "failing") return random.pick([500, 503, 429, 404])
    return random.chance(faults().failed_post) ? random.pick([500, 429]) : random.pick([200, 204])
  }

  const post = (host: Host) =>
    Effect.fnUntraced(function*({ body, headers, url }: WebhookRequest) {
      const mode = modeOf(url)
      const fail = (failure_code: WebhookRequestFailed["failure_code"]) => new WebhookRequestFailed({ failure_code })
      yield* wait(mode === "slow" ? random.between(1000, 14_000) : random.between(5, 80))
      if (mode === "dead") return yield* fail("connection_refused")
      const status = statusOf(mode)
      const isAccepted = status < 300
      const event_id = headers["webhook-id"] ?? ""
      posts.push({ url, event_id, body, isAccepted })
      trace.add("endpoint", `${status} for ${event_id} of ${host.name} at ${url}`)
      if (!host.isAlive) return yield* Effect.never
      if (random.chance(faults().failed_post / 2)) return yield* fail("connection_reset")
      return { status, body: "", retry_after: status === 429 ? random.pick([null, "60", "7200"]) : null }
    })

  return { transport: (host) => ({ post: post(host) }), posts }
}
