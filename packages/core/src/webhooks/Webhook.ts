/** A webhook: a subscription of a URL to events (contract §14). */
import { DateTime, Duration, Schema, SchemaTransformation } from "effect"
import { EventType } from "../events/Events.ts"
import { WebhookId } from "../kernel/Ids.ts"
import { limits } from "../kernel/Limits.ts"
import { jsonSchemaOnly, Text } from "../kernel/Text.ts"
import { Timestamp } from "../kernel/Timestamps.ts"
import { declareRows, pickFields, type Row } from "../work/Rows.ts"

// When failures of a webhook's endpoint pause the webhook, and when they disable it (contract §14.3, §14.9).

/** The failures of an endpoint since its last success. */
export const Health = Schema.Struct({
  consecutive_failures: Schema.Int,
  first_failure_at: Schema.NullOr(Timestamp)
})
export interface Health extends Schema.Schema.Type<typeof Health> {}

/** A webhook is disabled after this time without a success, if at least this number of attempts failed. */
export const disable_after = { time: Duration.days(5), failures_min: 10 } as const

/** After `failures_min` consecutive failures, the webhook is paused between attempts, which are made one at a time. */
export const breaker = { failures_min: 5, pause_min: Duration.seconds(30), pause_max: Duration.minutes(10) } as const

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

/**
 * Returns the pause until the next attempt: 30 seconds, twice as long with each failure, up to 10 minutes.
 *
 * Null before the fifth.
 */
export const pauseOf = ({ consecutive_failures }: Health): Duration.Duration | null => {
  const beyond = consecutive_failures - breaker.failures_min
  if (beyond < 0) return null
  return Duration.min(Duration.times(breaker.pause_min, 2 ** Math.min(beyond, 10)), breaker.pause_max)
}

// ---------------------------------------------------------------- data

export const WebhookStatus = Schema.Literals(["active", "disabled"])
export type WebhookStatus = typeof WebhookStatus.Type

export const Webhook = Schema.Struct({
  id: WebhookId,
  url: Schema.String.annotate({ format: "uri" }),
  event_types: Schema.Array(EventType),
  include_resource: Schema.Boolean.annotate({
    description: "Whether `data` of its events contains the message, conversation, or contact."
  }),
  status: WebhookStatus.annotate({
    description: "`disabled` by a request, by a 410 response, or after five days without a success; permanent."
  }),
  created_at: Timestamp,
  disabled_at: Schema.NullOr(Timestamp).annotate({ description: "Null while it is active." })
}).annotate({ identifier: "Webhook", description: "A subscription that sends selected event types to one URL." })
export interface Webhook extends Schema.Schema.Type<typeof Webhook> {}

/** The result of creating a webhook or rotating its secret. No other result contains the secret. */
export const CreatedWebhook = Schema.Struct({
  ...Webhook.fields,
  signing_secret: Schema.String.annotate({
    description: "The secret that signs every event (Standard Webhooks). Returned only once, so store it."
  })
}).annotate({ identifier: "CreatedWebhook", description: "A subscription with its new signing secret." })
export interface CreatedWebhook extends Schema.Schema.Type<typeof CreatedWebhook> {}

const isEventType = Schema.is(EventType)

// Checked as a whole, so that an error names `event_types` and not one of its elements.
const EventTypes = Schema.Array(Schema.String.check(jsonSchemaOnly({ enum: [...EventType.literals] }))).check(
  Schema.isBetweenLength(limits.webhook_event_types_min, limits.webhook_event_types_max),
  Schema.makeFilter((types: ReadonlyArray<string>) => types.every(isEventType), {
    expected: `a list of these event types: ${EventType.literals.join(", ")}`
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

const Url = Text.check(jsonSchemaOnly({ maxLength: limits.url_chars_max, pattern: "^[Hh][Tt][Tt][Pp][Ss]://[^/\\\\]" }))
  .annotate({
    description:
      "A public https endpoint: a host name, no user, no fragment, port 443 or above 1023. It is stored in ASCII, as WHATWG URL serializes it."
  })

const include_resource = Schema.Boolean.annotate({
  description:
    "Whether `data` of its events contains the message, conversation, or contact as it was when the event was raised."
})

export const CreateWebhook = Schema.Struct({
  url: Url,
  event_types: EventTypes,
  include_resource: Schema.optionalKey(include_resource.annotate({ default: false }))
}).annotate({ identifier: "CreateWebhook" }).pipe(Schema.brand("CreateWebhook"))
export interface CreateWebhook extends Schema.Schema.Type<typeof CreateWebhook> {}

/** A partial update: an absent field keeps its value (contract §14.15). */
export const UpdateWebhook = Schema.Struct({
  url: Schema.optionalKey(Url),
  event_types: Schema.optionalKey(EventTypes),
  include_resource: Schema.optionalKey(include_resource)
}).annotate({ identifier: "UpdateWebhook", description: "An absent field keeps its value." }).pipe(
  Schema.brand("UpdateWebhook")
)
export interface UpdateWebhook extends Schema.Schema.Type<typeof UpdateWebhook> {}

/** The filters of a list. A filter that is null does not filter (contract §14.4). */
export interface WebhookFilters {
  readonly status: WebhookStatus | null
}

/** The columns of a webhook. */
export const WebhookColumns = Schema.Struct({
  ...Webhook.fields,
  ...Health.fields,
  /** The signing secrets, encrypted together. */
  sealed_secret: Schema.String
})
export interface WebhookColumns extends Schema.Schema.Type<typeof WebhookColumns> {}

export type WebhookRow = Row<WebhookColumns>

export const WebhookRows = declareRows(WebhookColumns)({
  name: "webhooks",
  key: { id: "uuid" },
  list: { order: ["created_at", "id"] }
})

/** Returns the webhook as callers see it. */
export const toWebhook = pickFields(Webhook)

// -------------------------------------------------------------- errors

export class WebhookNotFound extends Schema.TaggedError<WebhookNotFound>()("WebhookNotFound", {}) {}

/** A webhook may not have this URL. `reason` is a sentence for the API's client. */
export class WebhookUrlRejected extends Schema.TaggedError<WebhookUrlRejected>()("WebhookUrlRejected", {
  reason: Schema.String
}) {}

/** Nothing is posted to a disabled webhook, and it does not change. */
export class WebhookDisabled extends Schema.TaggedError<WebhookDisabled>()("WebhookDisabled", {}) {}

/** The webhook already has the maximum number of secrets that sign. */
export class TooManySecrets extends Schema.TaggedError<TooManySecrets>()("TooManySecrets", { limit: Schema.Int }) {}

/** The organization already has the maximum number of active webhooks. */
export class TooManyWebhooks extends Schema.TaggedError<TooManyWebhooks>()("TooManyWebhooks", { limit: Schema.Int }) {}
