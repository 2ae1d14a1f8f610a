/**
 * Webhooks: subscriptions of URLs to events (contract §14).
 *
 * | State | Trigger | Next state |
 * | --- | --- | --- |
 * | active | disable | disabled |
 * | active | the endpoint answers 410 | disabled |
 * | active | no success for 5 days, with 10 failures or more | disabled |
 *
 * A disabled webhook stays disabled. The organization creates a new one instead.
 */
import {
  Context,
  DateTime,
  Duration,
  Effect,
  Layer,
  Option,
  Redacted,
  Result,
  Schema,
  SchemaTransformation,
  Struct
} from "effect"
import { type OrganizationRow, OrganizationRows, OrganizationStore } from "../accounts/Organizations.ts"
import { CurrentActor } from "../kernel/Actor.ts"
import { Ids, type OrganizationId, WebhookId } from "../kernel/Ids.ts"
import { limits } from "../kernel/Limits.ts"
import { operation } from "../kernel/Operations.ts"
import { resealAll, type SealedSecrets } from "../kernel/Resealing.ts"
import { Secrets } from "../kernel/Secrets.ts"
import { jsonSchemaOnly, Text } from "../kernel/Text.ts"
import { Timestamp } from "../kernel/Timestamps.ts"
import * as Changes from "../work/Changes.ts"
import { Decide, type DecisionContext, type Write } from "../work/Decide.ts"
import type { Respond } from "../work/RecordedResponses.ts"
import { lanes } from "../work/WorkQueue.ts"
import { EventType } from "./Events.ts"
import { newSecret } from "./WebhookSignature.ts"
import { AllowedAddresses } from "./WebhookTransport.ts"
import { accepted } from "./WebhookUrl.ts"

// ---------------------------------------------------------------- data

export const WebhookStatus = Schema.Literals(["active", "disabled"])
export type WebhookStatus = typeof WebhookStatus.Type

export const Webhook = Schema.Struct({
  id: WebhookId,
  url: Schema.String.annotate({ format: "uri" }),
  event_types: Schema.Array(EventType),
  status: WebhookStatus.annotate({
    description: "`disabled` by a request, by a 410 response, or after five days without a success; permanent."
  }),
  created_at: Timestamp,
  disabled_at: Schema.NullOr(Timestamp).annotate({ description: "Null while it is active." })
}).annotate({ identifier: "Webhook", description: "A subscription that sends selected event types to one URL." })
export interface Webhook extends Schema.Schema.Type<typeof Webhook> {}

/** The answer to the creation of a webhook, the only one that contains the secret. */
export const CreatedWebhook = Schema.Struct({
  ...Webhook.fields,
  signing_secret: Schema.String.annotate({
    description: "The secret that signs every event (Standard Webhooks). Returned only once, so store it."
  })
}).annotate({ identifier: "CreatedWebhook", description: "A new subscription with its signing secret." })
export interface CreatedWebhook extends Schema.Schema.Type<typeof CreatedWebhook> {}

const isEventType = Schema.is(EventType)

// Checked as a whole, so that an error names `event_types` and not one of its elements.
const EventTypes = Schema.Array(Schema.String.check(jsonSchemaOnly({ enum: [...EventType.literals] }))).check(
  Schema.isBetweenLength(limits.webhook_event_types_min, limits.webhook_event_types_max),
  Schema.makeFilter((types: ReadonlyArray<string>) => types.every(isEventType), {
    expected: `a list of event types among ${EventType.literals.join(", ")}`
  }),
  Schema.isUnique()
).pipe(
  Schema.decodeTo(
    Schema.Array(EventType).check(
      Schema.isBetweenLength(limits.webhook_event_types_min, limits.webhook_event_types_max),
      Schema.isUnique()
    ),
    SchemaTransformation.passthroughSupertype()
  )
)

export const CreateWebhook = Schema.Struct({
  url: Text.check(jsonSchemaOnly({ maxLength: limits.url_chars_max, pattern: "^[Hh][Tt][Tt][Pp][Ss]://[^/\\\\]" }))
    .annotate({
      description:
        "A public https endpoint: a host name, no user, no fragment, port 443 or above 1023. It is stored in ASCII, as WHATWG URL serializes it."
    }),
  event_types: EventTypes
}).annotate({ identifier: "CreateWebhook" }).pipe(Schema.brand("CreateWebhook"))
export interface CreateWebhook extends Schema.Schema.Type<typeof CreateWebhook> {}

/** The filters of a list. A filter that is null does not filter (contract §14.4). */
export interface WebhookFilters {
  readonly status: WebhookStatus | null
}

/** The failures of an endpoint since its last success. */
export interface Health {
  readonly consecutive_failures: number
  readonly first_failure_at: Timestamp | null
}

/** The columns of a webhook. */
export interface WebhookColumns extends Webhook, Health {
  /** The signing secret, encrypted. */
  readonly sealed_secret: string
}

export interface WebhookRow extends WebhookColumns {
  readonly version: Changes.Version
}

export const WebhookRows = Changes.rows<WebhookColumns>()({
  name: "webhooks",
  key: { id: "uuid" },
  columns: {
    url: "text",
    event_types: "text[]",
    status: "text",
    created_at: "timestamptz",
    disabled_at: "timestamptz",
    sealed_secret: "text",
    consecutive_failures: "integer",
    first_failure_at: "timestamptz"
  },
  unique: null,
  activity: null
})

// -------------------------------------------------------------- errors

export class WebhookNotFound extends Schema.TaggedError<WebhookNotFound>()("WebhookNotFound", {}) {}

/** A webhook may not have this URL. `reason` is a sentence for the API's client. */
export class WebhookUrlRefused extends Schema.TaggedError<WebhookUrlRefused>()("WebhookUrlRefused", {
  reason: Schema.String
}) {}

/** The organization already has the maximum of active webhooks. */
export class TooManyWebhooks extends Schema.TaggedError<TooManyWebhooks>()("TooManyWebhooks", { limit: Schema.Int }) {}

// ----------------------------------------------------------- decisions

/** A webhook is disabled after this time without a success, if at least so many attempts failed. */
export const disable_after = { time: Duration.days(5), failures_min: 10 } as const

/** After `failures_min` consecutive failures, the webhook is paused between attempts, which are made one at a time. */
export const breaker = { failures_min: 5, pause_min: Duration.seconds(30), pause_max: Duration.minutes(10) } as const

/**
 * How many pending deliveries fail in the same commit that disables their webhook.
 *
 * A webhook whose endpoint failed for days may have a million of them, too many
 * for one commit. The others fail when the worker claims them. A list returns
 * fewer than this, so it never shows the difference.
 */
export const abandoned_max = 200

/** The health after a success. */
export const healthy: Health = { consecutive_failures: 0, first_failure_at: null }

/** Returns the health after one more failure. */
export const recordFailure = ({ consecutive_failures, first_failure_at }: Health, now: Timestamp): Health => ({
  consecutive_failures: consecutive_failures + 1,
  first_failure_at: first_failure_at ?? now
})

/** Returns whether the endpoint has failed long and often enough for its webhook to be disabled. */
export const shouldDisable = ({ consecutive_failures, first_failure_at }: Health, now: Timestamp): boolean =>
  consecutive_failures >= disable_after.failures_min &&
  first_failure_at !== null &&
  DateTime.isGreaterThanOrEqualTo(now, DateTime.addDuration(first_failure_at, disable_after.time))

/** Returns the pause until the next attempt: 30 seconds, doubled with each failure, up to 10 minutes. Null before the fifth. */
export const pauseOf = ({ consecutive_failures }: Health): Duration.Duration | null => {
  const beyond = consecutive_failures - breaker.failures_min
  if (beyond < 0) return null
  return Duration.min(Duration.times(breaker.pause_min, 2 ** Math.min(beyond, 10)), breaker.pause_max)
}

/** Returns the encryption context of a webhook's secret, so that the ciphertext cannot be decrypted for another webhook. */
export const secretContext = (organization_id: OrganizationId, id: WebhookId): string =>
  `webhook-secret|${organization_id}|${id}`

/** Returns the webhook as callers see it. */
export const toWebhook = (row: WebhookColumns): Webhook =>
  Struct.pick(row, ["id", "url", "event_types", "status", "created_at", "disabled_at"])

/** Subscribes a URL to events. */
const create = (
  { active, organization }: {
    readonly active: number
    readonly organization: Option.Option<OrganizationRow>
  },
  webhook: Pick<WebhookColumns, "event_types" | "id" | "sealed_secret" | "url">,
  { now }: DecisionContext
): Result.Result<Changes.Decision<Webhook>, TooManyWebhooks> => {
  if (active >= limits.webhooks_active_max) {
    return Result.fail(new TooManyWebhooks({ limit: limits.webhooks_active_max }))
  }
  const row: WebhookColumns = { ...webhook, status: "active", created_at: now, disabled_at: null, ...healthy }
  return Result.succeed({
    answer: toWebhook(row),
    changes: Changes.all(
      WebhookRows.insert(row),
      // Concurrent creations of the last allowed webhook must conflict, so both update one row.
      ...Option.toArray(organization).map((found) => OrganizationRows.update(found, {}))
    )
  })
}

/**
 * Disables a webhook permanently. Its newest pending deliveries fail in the same
 * commit, the others when they are claimed, without a pause. A disabled webhook
 * does not change.
 */
export const disable = (
  row: WebhookRow,
  health: Health,
  disabled_at: Timestamp
): Changes.Decision<Webhook> => {
  if (row.status === "disabled") return { answer: toWebhook(row), changes: Changes.none }
  const set = { status: "disabled", disabled_at, ...health } as const
  const { id: webhook_id } = row
  return {
    answer: toWebhook({ ...row, ...set }),
    changes: Changes.all(
      WebhookRows.update(row, set),
      { abandon: [{ webhook_id, limit: abandoned_max }] },
      Changes.throttle({ kind: "webhook_delivery", lane: webhook_id, until: null, cap: lanes.webhook_delivery.cap })
    )
  }
}

// ---------------------------------------------------------------- port

/**
 * Port: reads webhooks, and replaces their encrypted secrets. Commits write all else.
 *
 * **Contract** (checked by `conformance/Webhooks.ts`)
 *
 * - `find` returns the latest committed row, and none for another organization's webhook.
 * - `list` returns the organization's webhooks that pass every filter that is not
 *   null, newest first, then by id descending, at most `limit`.
 * - `countActive` returns how many active webhooks the organization has.
 * - `sealedOtherwise` returns at most `limit` encrypted secrets of active webhooks
 *   of all organizations that do not begin with `prefix`, ordered by webhook id,
 *   beginning after `after`. `reseal` replaces a secret if it is still `before`.
 */
export class WebhookStore extends Context.Service<
  WebhookStore,
  SealedSecrets<WebhookId> & {
    readonly list: (
      organization_id: OrganizationId,
      filters: WebhookFilters,
      limit: number
    ) => Effect.Effect<ReadonlyArray<Webhook>>
    readonly countActive: (organization_id: OrganizationId) => Effect.Effect<number>
    readonly find: (organization_id: OrganizationId, id: WebhookId) => Effect.Effect<Option.Option<WebhookRow>>
  }
>()("@messaging-crm/core/Webhooks/WebhookStore") {}

// ---------------------------------------------------------- operations

/** Operations on the current actor's webhooks. */
export class Webhooks extends Context.Service<Webhooks, {
  /** Subscribes a URL to events. Only this answer contains the signing secret (contract §14.2). */
  readonly create: Write<[input: CreateWebhook], CreatedWebhook, WebhookUrlRefused | TooManyWebhooks>
  /** Returns the 100 most recent webhooks that pass the filters, newest first. */
  readonly list: (filters: WebhookFilters) => Effect.Effect<ReadonlyArray<Webhook>, never, CurrentActor>
  /** Disables a webhook permanently, and fails its pending deliveries. Disabling it again changes nothing. */
  readonly disable: Write<[id: WebhookId], Webhook, WebhookNotFound>
  /**
   * Re-encrypts the secrets that an older root key encrypted, and returns their number.
   *
   * A secret that no key decrypts does not change.
   */
  readonly reseal: Effect.Effect<number>
}>()("@messaging-crm/core/Webhooks") {
  static readonly layer = Layer.effect(
    Webhooks,
    Effect.gen(function*() {
      const allowed = yield* AllowedAddresses
      const { runAudited } = yield* Decide
      const ids = yield* Ids
      const organizations = yield* OrganizationStore
      const secrets = yield* Secrets
      const store = yield* WebhookStore

      const createWebhook = operation("webhooks.create")(function*<Out>(
        { event_types, url: given }: CreateWebhook,
        respond?: Respond<CreatedWebhook, Out>
      ) {
        const { organization_id } = yield* CurrentActor
        const url = yield* Effect.mapError(
          Effect.fromResult(accepted(given, allowed)),
          (reason) => new WebhookUrlRefused({ reason })
        )
        const id = WebhookId.make(ids.next())
        const signing_secret = Redacted.value(yield* newSecret)
        const sealed_secret = yield* secrets.seal(secretContext(organization_id, id), signing_secret)
        return yield* runAudited("webhooks.create", {
          // The organization first: its version must be no newer than what it guards.
          load: Effect.all({
            organization: organizations.find(organization_id),
            active: store.countActive(organization_id)
          }),
          decide: (loaded, context) =>
            Result.map(
              create(loaded, { id, url, event_types, sealed_secret }, context),
              ({ answer, changes }) => ({ answer: { ...answer, signing_secret }, changes })
            )
        }, respond)
      })

      const list = operation("webhooks.list")(function*(filters: WebhookFilters) {
        const { organization_id } = yield* CurrentActor
        return yield* store.list(organization_id, filters, limits.webhook_list_size)
      })

      const disableWebhook = operation("webhooks.disable")(
        function*<Out>(id: WebhookId, respond?: Respond<Webhook, Out>) {
          const { organization_id } = yield* CurrentActor
          return yield* runAudited("webhooks.disable", {
            load: store.find(organization_id, id),
            decide: (found, { now }) =>
              Result.map(
                Result.fromOption(found, () => new WebhookNotFound()),
                (row) => disable(row, Struct.pick(row, ["consecutive_failures", "first_failure_at"]), now)
              ),
            current: (found) => Result.map(Result.fromOption(found, () => new WebhookNotFound()), toWebhook)
          }, respond)
        }
      )

      const reseal = resealAll(secrets, store, secretContext)

      return Webhooks.of({ create: createWebhook, list, disable: disableWebhook, reseal })
    })
  )
}
