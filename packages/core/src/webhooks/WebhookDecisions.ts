/** The decisions about a webhook: who may have one, what an update changes, and how it is disabled (contract §14). */
import { Equivalence, Option, Result } from "effect"
import { type OrganizationRow, OrganizationRows } from "../accounts/Organizations.ts"
import * as Events from "../events/Events.ts"
import type { WebhookId } from "../kernel/Ids.ts"
import { limits } from "../kernel/Limits.ts"
import type { Timestamp } from "../kernel/Timestamps.ts"
import * as Changes from "../work/Changes.ts"
import type { DecisionContext } from "../work/Decide.ts"
import { kind_rules } from "../work/WorkQueue.ts"
import {
  type CreatedWebhook,
  type Health,
  healthy,
  TooManySecrets,
  TooManyWebhooks,
  toWebhook,
  type Webhook,
  type WebhookColumns,
  WebhookDisabled,
  WebhookNotFound,
  type WebhookRow,
  WebhookRows
} from "./Webhook.ts"

/** Returns the webhook that a decision is about. */
export const orNotFound = (row: Option.Option<WebhookRow>): Result.Result<WebhookRow, WebhookNotFound> =>
  Result.fromOption(row, () => new WebhookNotFound())

/** Adds the new signing secret to the result of a decision. */
export const withSecret =
  (signing_secret: string) => ({ changes, result }: Changes.Decision<Webhook>): Changes.Decision<CreatedWebhook> => ({
    result: { ...result, signing_secret },
    changes
  })

const equalTypes = Equivalence.Array(Equivalence.strictEqual<Events.EventType>())

/** Subscribes a URL to events. */
export const create = (
  { active, organization }: {
    readonly active: number
    readonly organization: Option.Option<OrganizationRow>
  },
  webhook: Pick<WebhookColumns, "event_types" | "id" | "include_resource" | "sealed_secret" | "url">,
  { now }: DecisionContext
): Result.Result<Changes.Decision<Webhook>, TooManyWebhooks> => {
  if (active >= limits.webhooks_active_max) {
    return Result.fail(new TooManyWebhooks({ limit: limits.webhooks_active_max }))
  }
  const row: WebhookColumns = { ...webhook, status: "active", created_at: now, disabled_at: null, ...healthy }
  return Result.succeed({
    result: toWebhook(row),
    changes: Changes.all(
      WebhookRows.insert(row),
      // Concurrent creations of the last allowed webhook must conflict, so both update one row.
      ...Option.toArray(organization).map((found) => OrganizationRows.update(found, {}))
    )
  })
}

/** Ends the pause of a webhook and its smaller number of concurrent deliveries. */
const unthrottle = (lane: WebhookId): Changes.Changes =>
  Changes.throttle({ kind: "webhook_delivery", lane, until: null, cap: kind_rules.webhook_delivery.cap })

/**
 * Changes the URL, the event types, or whether events have resources.
 *
 * Another URL is another endpoint: it begins without failures and without a pause.
 */
export const update = (
  row: WebhookRow,
  set: Partial<Pick<WebhookColumns, "event_types" | "include_resource" | "url">>
): Result.Result<Changes.Decision<Webhook>, WebhookDisabled> => {
  const { event_types, id: lane, status, url } = row
  const isMoved = set.url !== undefined && set.url !== url
  const isSame = !isMoved && (set.event_types === undefined || equalTypes(event_types, set.event_types)) &&
    (set.include_resource ?? row.include_resource) === row.include_resource
  if (isSame) return Result.succeed({ result: toWebhook(row), changes: Changes.none })
  if (status === "disabled") return Result.fail(new WebhookDisabled())
  const columns = { ...set, ...(isMoved ? healthy : {}) }
  return Result.succeed({
    result: toWebhook({ ...row, ...columns }),
    changes: Changes.all(
      WebhookRows.update(row, columns),
      isMoved
        ? unthrottle(lane)
        : Changes.none
    )
  })
}

/** Replaces the encrypted signing secrets. Fails if `sealed_secret` is null, because there would be too many of them. */
export const rotate = (
  row: WebhookRow,
  sealed_secret: string | null
): Result.Result<Changes.Decision<Webhook>, TooManySecrets | WebhookDisabled> =>
  row.status === "disabled"
    ? Result.fail(new WebhookDisabled())
    : sealed_secret === null
    ? Result.fail(new TooManySecrets({ limit: limits.webhook_secrets_max }))
    : Result.succeed({ result: toWebhook(row), changes: WebhookRows.update(row, { sealed_secret }) })

/**
 * How many pending deliveries fail in the same commit that disables their webhook.
 *
 * A webhook whose endpoint failed for days may have a million of them, too many
 * for one commit. The others fail when the worker claims them. A list returns
 * fewer than this, so it never shows the difference.
 */
export const abandoned_max = 200

/** Why a webhook is disabled: a request, or an endpoint that is gone or has failed for too long. */
export type DisablingReason = Events.EventOf<"webhook.disabled">["data"]["reason"]

/**
 * Disables a webhook permanently. Its newest pending deliveries fail in the same
 * commit, the others when they are claimed, without a pause. A disabled webhook
 * does not change.
 */
export const disable = (
  row: WebhookRow,
  health: Health,
  disabled_at: Timestamp,
  reason: DisablingReason,
  context: DecisionContext
): Changes.Decision<Webhook> => {
  if (row.status === "disabled") return { result: toWebhook(row), changes: Changes.none }
  const set = { status: "disabled", disabled_at, ...health } as const
  const { id: webhook_id } = row
  return {
    result: toWebhook({ ...row, ...set }),
    changes: Changes.all(
      WebhookRows.update(row, set),
      Changes.raise(Events.make("webhook.disabled", { conversation_id: null, webhook_id, reason }, context)),
      { abandon: [{ webhook_id, limit: abandoned_max }] },
      unthrottle(webhook_id)
    )
  }
}
