/**
 * Webhooks: where the service posts its events (spec §2.7, §6).
 *
 * | State | Trigger | Next state |
 * | --- | --- | --- |
 * | active | disable | disabled |
 * | active | the endpoint answers 410 | disabled |
 * | active | no success for 5 days, with 10 failures or more | disabled |
 *
 * A disabled webhook stays disabled; another one takes its place.
 */
import { Context, DateTime, Duration, Effect, Layer, Option, Redacted, Schema, SchemaTransformation } from "effect"
import { CurrentActor } from "./Actor.ts"
import { EventType } from "./Events.ts"
import { Ids, type OrganizationId, WebhookId } from "./Ids.ts"
import { limits } from "./Limits.ts"
import { Secrets } from "./Secrets.ts"
import { checkedElsewhere, Text } from "./Text.ts"
import { Timestamp } from "./Timestamps.ts"
import { UnitOfWork } from "./UnitOfWork.ts"
import { newSecret } from "./Webhooks/Signature.ts"
import { refusalOf } from "./Webhooks/Url.ts"
import { AllowedAddresses } from "./WebhookTransport.ts"
import { lanes, WorkQueue } from "./WorkQueue.ts"

// ---------------------------------------------------------------- data

export const WebhookStatus = Schema.Literals(["active", "disabled"])
export type WebhookStatus = typeof WebhookStatus.Type

export const Webhook = Schema.Struct({
  id: WebhookId,
  url: Schema.String.annotate({ format: "uri" }),
  event_types: Schema.Array(EventType),
  status: WebhookStatus.annotate({
    description: "`disabled` by a call, by an answer of 410, or after five days without a success. It stays so."
  }),
  created_at: Timestamp,
  disabled_at: Schema.NullOr(Timestamp).annotate({ description: "Null while it is active." })
}).annotate({ identifier: "Webhook", description: "A subscription: where the service posts which events." })
export interface Webhook extends Schema.Schema.Type<typeof Webhook> {}

/** A webhook as its creation answers: the only time that the secret is shown. */
export const CreatedWebhook = Schema.Struct({
  ...Webhook.fields,
  signing_secret: Schema.String.annotate({
    description: "Signs every event, as Standard Webhooks has it. It is shown here and never again."
  })
}).annotate({ identifier: "CreatedWebhook", description: "A subscription as its creation answers." })
export interface CreatedWebhook extends Schema.Schema.Type<typeof CreatedWebhook> {}

const isEventType = Schema.is(EventType)

// Checked as a whole, so that a refusal names `event_types` and not a place in it.
const EventTypes = Schema.Array(Schema.String.check(checkedElsewhere({ enum: [...EventType.literals] }))).check(
  Schema.isBetweenLength(limits.webhook_event_types_min, limits.webhook_event_types_max),
  Schema.makeFilter((types: ReadonlyArray<string>) => types.every(isEventType), {
    expected: `only ${EventType.literals.join(", ")}`
  }),
  Schema.isUnique()
).pipe(Schema.decodeTo(Schema.Array(EventType), SchemaTransformation.passthroughSupertype()))

export const CreateWebhook = Schema.Struct({
  url: Text.check(checkedElsewhere({ maxLength: limits.url_chars_max, format: "uri" })).annotate({
    description: "A public https endpoint: a host name, no user, no fragment."
  }),
  event_types: EventTypes
}).annotate({ identifier: "CreateWebhook" })
export interface CreateWebhook extends Schema.Schema.Type<typeof CreateWebhook> {}

/** How an endpoint has been doing since its last success. */
export interface Health {
  readonly consecutive_failures: number
  readonly first_failure_at: Timestamp | null
}

/** A webhook as it is stored. */
export interface WebhookRow extends Health {
  readonly webhook: Webhook
  /** The signing secret, encrypted. */
  readonly sealed_secret: string
}

// -------------------------------------------------------------- errors

export class WebhookNotFound extends Schema.TaggedError<WebhookNotFound>()("WebhookNotFound", {}) {}

/** Nothing may be posted to this URL. `reason` is a sentence for who gave it. */
export class WebhookUrlRefused extends Schema.TaggedError<WebhookUrlRefused>()("WebhookUrlRefused", {
  reason: Schema.String
}) {}

// ---------------------------------------------------------- transitions

/** How long an endpoint may fail without a success, and how often at least, before its webhook is disabled. */
export const hopeless = { after: Duration.days(5), failures_min: 10 } as const

/** From how many failures in a row on an endpoint is given pauses, and tried by one attempt at a time. */
export const breaker = { failures_min: 5, pause_min: Duration.seconds(30), pause_max: Duration.minutes(10) } as const

/**
 * How many pending deliveries end in the very moment in which their webhook is disabled.
 *
 * An endpoint that was dead for days may have a million of them, more than one
 * unit of work can hold; the others end when their turn comes. A list shows
 * fewer than these.
 */
export const abandoned_max = 200

/** Returns the webhook once it is disabled; a disabled one does not change. */
export const disable = (webhook: Webhook, disabled_at: Timestamp): Webhook =>
  webhook.status === "disabled" ? webhook : { ...webhook, status: "disabled", disabled_at }

/** The health of an endpoint that has just succeeded. */
export const healthy: Health = { consecutive_failures: 0, first_failure_at: null }

/** Returns the health after one more failure. */
export const worse = ({ consecutive_failures, first_failure_at }: Health, now: Timestamp): Health => ({
  consecutive_failures: consecutive_failures + 1,
  first_failure_at: first_failure_at ?? now
})

/** Returns whether an endpoint has failed for so long that its webhook is disabled. */
export const isHopeless = ({ consecutive_failures, first_failure_at }: Health, now: Timestamp): boolean =>
  consecutive_failures >= hopeless.failures_min &&
  first_failure_at !== null &&
  DateTime.isGreaterThanOrEqualTo(now, DateTime.addDuration(first_failure_at, hopeless.after))

/** Returns how long an endpoint is left alone, or null while it has not failed often enough. */
export const pauseOf = ({ consecutive_failures }: Health): Duration.Duration | null => {
  const beyond = consecutive_failures - breaker.failures_min
  if (beyond < 0) return null
  return Duration.min(Duration.times(breaker.pause_min, 2 ** Math.min(beyond, 10)), breaker.pause_max)
}

/** Returns what a sealed secret is bound to, so that it opens as nobody else's. */
export const secretContext = (organization_id: OrganizationId, id: WebhookId): string =>
  `webhook-secret|${organization_id}|${id}`

// ---------------------------------------------------------------- port

/**
 * Port: where webhooks are kept.
 *
 * **Contract** (checked by `conformance/Webhooks.ts`)
 *
 * - `find` returns what was inserted or last updated, and none for another
 *   organization's webhook. `lock` returns the same, and lets no other unit of
 *   work pass the same point for that webhook until this one ends.
 * - `list` returns the organization's webhooks from the newest to the oldest,
 *   then by id descending, at most `limit`.
 * - `update` writes the status with its time, and the health.
 * - `abandon` fails the webhook's pending deliveries with `webhook_disabled`, at
 *   most `limit`, the newest first.
 * - `sealedOtherwise` returns at most `limit` secrets of active webhooks, of
 *   any organization, that do not begin with the prefix. `reseal` replaces one
 *   where it is still `before`.
 */
export class WebhookStore extends Context.Service<WebhookStore, {
  readonly insert: (organization_id: OrganizationId, row: WebhookRow) => Effect.Effect<void>
  readonly list: (organization_id: OrganizationId, limit: number) => Effect.Effect<ReadonlyArray<Webhook>>
  readonly find: (organization_id: OrganizationId, id: WebhookId) => Effect.Effect<Option.Option<WebhookRow>>
  readonly lock: (organization_id: OrganizationId, id: WebhookId) => Effect.Effect<Option.Option<WebhookRow>>
  readonly update: (organization_id: OrganizationId, row: WebhookRow) => Effect.Effect<void>
  readonly abandon: (organization_id: OrganizationId, id: WebhookId, limit: number) => Effect.Effect<void>
  readonly sealedOtherwise: (prefix: string, limit: number) => Effect.Effect<
    ReadonlyArray<{
      readonly organization_id: OrganizationId
      readonly id: WebhookId
      readonly sealed_secret: string
    }>
  >
  readonly reseal: (
    organization_id: OrganizationId,
    id: WebhookId,
    before: string,
    after: string
  ) => Effect.Effect<void>
}>()("@messaging-crm/core/Webhooks/WebhookStore") {}

// ---------------------------------------------------------- operations

/** Operations on the current actor's webhooks. */
export class Webhooks extends Context.Service<Webhooks, {
  /** Subscribes a URL to events. The answer holds the signing secret, which is never shown again (spec §4.7). */
  readonly create: (input: CreateWebhook) => Effect.Effect<CreatedWebhook, WebhookUrlRefused, CurrentActor>
  /** Returns the 100 most recent webhooks. */
  readonly list: Effect.Effect<ReadonlyArray<Webhook>, never, CurrentActor>
  /** Disables a webhook for good, with its pending deliveries. Disabling a disabled one changes nothing. */
  readonly disable: (id: WebhookId) => Effect.Effect<Webhook, WebhookNotFound, CurrentActor>
  /**
   * Disables the webhook of a row that the caller's unit of work holds, with its
   * pending deliveries: the newest now, all in their turn, which no pause delays.
   */
  readonly end: (organization_id: OrganizationId, row: WebhookRow, at: Timestamp) => Effect.Effect<Webhook>
  /** Encrypts again, a batch at a time, what an older root key encrypted, and answers how many secrets that were. */
  readonly reseal: Effect.Effect<number>
}>()("@messaging-crm/core/Webhooks") {
  static readonly layer = Layer.effect(
    Webhooks,
    Effect.gen(function*() {
      const allowed = yield* AllowedAddresses
      const ids = yield* Ids
      const secrets = yield* Secrets
      const store = yield* WebhookStore
      const unitOfWork = yield* UnitOfWork
      const work = yield* WorkQueue

      const create = Effect.fn("Webhooks.create")(function*({ event_types, url }: CreateWebhook) {
        const { organization_id } = yield* CurrentActor
        const reason = refusalOf(url, allowed)
        if (reason !== null) return yield* new WebhookUrlRefused({ reason })
        const id = WebhookId.make(yield* ids.uuid)
        const signing_secret = Redacted.value(yield* newSecret)
        const webhook: Webhook = {
          id,
          url,
          event_types,
          status: "active",
          created_at: yield* DateTime.now,
          disabled_at: null
        }
        const sealed_secret = yield* secrets.seal(secretContext(organization_id, id), signing_secret)
        yield* store.insert(organization_id, { webhook, sealed_secret, ...healthy })
        return { ...webhook, signing_secret }
      })

      const list = CurrentActor.use(({ organization_id }) => store.list(organization_id, limits.webhook_list_size))
        .pipe(Effect.withSpan("Webhooks.list"))

      const end = Effect.fnUntraced(function*(organization_id: OrganizationId, row: WebhookRow, at: Timestamp) {
        const webhook = disable(row.webhook, at)
        const { id } = webhook
        yield* store.update(organization_id, { ...row, webhook })
        yield* store.abandon(organization_id, id, abandoned_max)
        yield* work.throttle({ kind: "delivery", lane: id }, { until: null, cap: lanes.delivery.cap })
        return webhook
      })

      const disableNow = Effect.fnUntraced(function*(id: WebhookId) {
        const { organization_id } = yield* CurrentActor
        const found = yield* store.lock(organization_id, id)
        if (Option.isNone(found)) return yield* new WebhookNotFound()
        const { webhook } = found.value
        return webhook.status === "disabled" ? webhook : yield* end(organization_id, found.value, yield* DateTime.now)
      })

      const disableOne = Effect.fn("Webhooks.disable")((id: WebhookId) => unitOfWork.transact(disableNow(id)))

      const resealOne = Effect.fnUntraced(function*({ id, organization_id, sealed_secret }: {
        readonly organization_id: OrganizationId
        readonly id: WebhookId
        readonly sealed_secret: string
      }) {
        const context = secretContext(organization_id, id)
        const secret = yield* secrets.open(context, sealed_secret)
        if (Option.isNone(secret)) return false
        yield* store.reseal(organization_id, id, sealed_secret, yield* secrets.seal(context, secret.value))
        return true
      })

      const reseal = store.sealedOtherwise(secrets.sealPrefix, 100).pipe(
        Effect.flatMap((rows) => Effect.forEach(rows, resealOne)),
        unitOfWork.transact,
        Effect.map((done) => done.filter(Boolean).length)
      )

      return Webhooks.of({ create, list, disable: disableOne, end, reseal })
    })
  )
}
