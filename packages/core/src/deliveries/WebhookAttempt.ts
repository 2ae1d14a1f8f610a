/**
 * Webhook attempt: signs an event, posts it once, and returns the outcome as data.
 *
 * Nothing is written here. `WebhookOutcome.ts` decides what the outcome changes.
 */
import { Context, DateTime, Duration, Effect, Layer, Metric, Option, RcMap, Result, Schema } from "effect"
import type { AttemptFailureCode } from "../kernel/DeliveryFailure.ts"
import type { EventId, OrganizationId, WebhookId } from "../kernel/Ids.ts"
import { delivery_attempts } from "../kernel/Metrics.ts"
import { makeOpenOnce, SecretUnreadable } from "../kernel/Secrets.ts"
import { toStorable } from "../kernel/Text.ts"
import type { Timestamp } from "../kernel/Timestamps.ts"
import { Turns } from "../kernel/Turns.ts"
import * as Destinations from "../webhooks/Destinations.ts"
import { type WebhookRow, WebhookRows } from "../webhooks/Webhook.ts"
import { headersOf, secretContext, validAt } from "../webhooks/WebhookSignature.ts"
import { WebhookRequestFailed, type WebhookResponse, WebhookTransport } from "../webhooks/WebhookTransport.ts"
import { Rows } from "../work/Rows.ts"

// ---------------------------------------------------------------- data

/** The webhook and the event of an attempt. */
export interface Posting {
  readonly organization_id: OrganizationId
  readonly webhook: WebhookRow
  readonly event_id: EventId
  /** The event's exact bytes. */
  readonly body: string
}

/** The outcome of one attempt. */
export interface Attempt {
  readonly at: Timestamp
  readonly duration_ms: number
  /** Null when no response came, as is `response_body`. */
  readonly response_status: number | null
  readonly response_body: string | null
  /** Null when the endpoint responded with a 2xx. */
  readonly failure_code: AttemptFailureCode | null
}

/** An attempt, with the `Retry-After` header of the response: null when there is none. */
export interface Posted {
  readonly attempt: Attempt
  readonly retry_after: string | null
}

/**
 * The process has reached its limit of concurrent attempts to the host, or the webhook changed while it waited.
 *
 * Nothing was posted.
 */
export class HostBusy extends Schema.TaggedError<HostBusy>()("HostBusy", {}) {}

// ----------------------------------------------------------- decisions

/** The timeout of an attempt, well below the lease of its work. The transport's own timeout is shorter: 15 seconds. */
const attempt_time_max = Duration.seconds(25)

/**
 * The maximum number of concurrent attempts of a process to one host, and how long a further attempt waits for its turn.
 *
 * A host can be a third party's, such as one workflow provider, and webhooks of several organizations can have the same
 * host. A webhook gets at most half of the places, and always one, so that no other can delay it by not responding.
 */
const [host_attempts_max, host_wait_max] = [64, Duration.seconds(20)]

/** The longest wait after which an attempt does not check whether its webhook has changed. */
const unchecked_wait_max = Duration.seconds(1)

/** The longest time of a post: until it has its turn at its host, and then of its attempt. */
export const post_time_max = Duration.sum(host_wait_max, attempt_time_max)

/** Returns whether an attempt that has waited for its turn is still one that the webhook would get now. */
const isCurrent = ({ webhook }: Posting, found: Option.Option<WebhookRow>): boolean =>
  Option.exists(
    found,
    ({ include_resource, sealed_secret, status, url }) =>
      status === webhook.status && url === webhook.url && sealed_secret === webhook.sealed_secret &&
      include_resource === webhook.include_resource
  )

const isSuccess = (status: number): boolean => status >= 200 && status <= 299

/** Returns the columns of an attempt that follow from the response, or from its absence. */
const resultOf = (outcome: Result.Result<WebhookResponse, WebhookRequestFailed>) =>
  Result.isSuccess(outcome)
    ? {
      response_status: outcome.success.status,
      response_body: toStorable(outcome.success.body),
      failure_code: isSuccess(outcome.success.status) ? null : "http_status" as const
    }
    : { response_status: null, response_body: null, failure_code: outcome.failure.failure_code }

/** Returns the delay of a `Retry-After` header, in seconds or as a date; null when it is absent or malformed. */
export const parseRetryAfter = (header: string | null, now: Timestamp): Duration.Duration | null => {
  if (header === null) return null
  if (/^\s*[0-9]{1,9}\s*$/.test(header)) return Duration.seconds(Number(header))
  const at = DateTime.make(header)
  return Option.isNone(at) ? null : Duration.max(DateTime.distance(now, at.value), Duration.zero)
}

// ---------------------------------------------------------- operations

/**
 * Builds the function that makes one attempt: it signs the event with the
 * current time, posts it, and counts the outcome.
 *
 * `SecretUnreadable` if no root key decrypts the webhook's signing secret, and `HostBusy` if there are too many
 * attempts to its host, or the webhook changed while it waited for one of them to end: then nothing is posted.
 */
const makePost = Effect.gen(function*() {
  const openOnce = yield* makeOpenOnce
  const rows = yield* Rows
  const send = Destinations.makePost(yield* Destinations.Destinations, yield* WebhookTransport)
  const hosts = yield* RcMap.make({
    lookup: (_host: string) =>
      Effect.sync(() => new Turns<WebhookId>({ places: host_attempts_max, share: "half", isFirstGranted: true }))
  })

  const postNow = Effect.fnUntraced(function*({ body, event_id, organization_id, webhook }: Posting) {
    const { id, sealed_secret, url } = webhook
    const opened = yield* openOnce(secretContext(organization_id, id), sealed_secret)
    const secret = yield* Effect.fromOption(opened, () => new SecretUnreadable())
    const at = yield* DateTime.now
    const headers = yield* headersOf(validAt(secret, at), { id: event_id, timestamp: at, body })
    const [duration, outcome] = yield* send({ url, headers, body }).pipe(
      Effect.timeoutOrElse({
        duration: attempt_time_max,
        orElse: () => Effect.fail(new WebhookRequestFailed({ failure_code: "timeout" }))
      }),
      Effect.withSpan("WebhookTransport.post", { kind: "client" }),
      Effect.result,
      // Measured with the monotonic clock, so a duration is never negative.
      Effect.timed
    )
    const attempt: Attempt = { at, duration_ms: Math.round(Duration.toMillis(duration)), ...resultOf(outcome) }
    const counted = delivery_attempts.of({ outcome: attempt.failure_code ?? "succeeded" })
    yield* Metric.update(counted, 1)
    const posted: Posted = {
      attempt,
      retry_after: Result.isSuccess(outcome) ? outcome.success.retry_after : null
    }
    return posted
  })

  /** Makes an attempt, unless it waited long and its webhook has changed meanwhile. */
  const postCurrent = Effect.fnUntraced(function*(posting: Posting, asked_at: Timestamp) {
    const waited = DateTime.distance(asked_at, yield* DateTime.now)
    if (Duration.isGreaterThan(waited, unchecked_wait_max)) {
      const found = yield* rows.find(WebhookRows, posting.organization_id, posting.webhook.id)
      if (!isCurrent(posting, found)) return yield* new HostBusy()
    }
    return yield* postNow(posting)
  })

  return Effect.fnUntraced(function*(posting: Posting) {
    // With a period at its end, a name is that of the same host.
    const host = new URL(posting.webhook.url).hostname.replace(/\.$/, "")
    const ofHost = yield* RcMap.get(hosts, host)
    const asked_at = yield* DateTime.now
    const turn = ofHost.acquire(posting.webhook.id)
    if (Option.isNone(yield* Effect.timeoutOption(turn, host_wait_max))) return yield* new HostBusy()
    return yield* postCurrent(posting, asked_at)
  }, Effect.scoped)
})

/** Makes attempts. Deliveries and replays share one, so that the limit of a host holds for both. */
export class WebhookPosts extends Context.Service<WebhookPosts, {
  readonly post: (posting: Posting) => Effect.Effect<Posted, HostBusy | SecretUnreadable>
}>()("@messaging-crm/core/WebhookAttempt/WebhookPosts") {
  static readonly layer = Layer.effect(WebhookPosts, Effect.map(makePost, (post) => WebhookPosts.of({ post })))
}
