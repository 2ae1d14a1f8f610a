/**
 * Webhooks: subscriptions of URLs to events (contract §14).
 *
 * | State | Trigger | Next state |
 * | --- | --- | --- |
 * | active | update | active |
 * | active | disable | disabled |
 * | active | the endpoint responds with 410 | disabled |
 * | active | no success for 5 days, with 10 failures or more | disabled |
 *
 * A disabled webhook stays disabled. The organization creates a new one instead.
 */
import { Context, DateTime, Effect, Equivalence, Layer, Option, Redacted, Result, Struct } from "effect"
import { type OrganizationRow, OrganizationRows, OrganizationStore } from "../accounts/Organizations.ts"
import { CurrentActor } from "../kernel/Actor.ts"
import { Ids, type OrganizationId, WebhookId } from "../kernel/Ids.ts"
import { limits } from "../kernel/Limits.ts"
import { type InsufficientScope, operation, requireScopes } from "../kernel/Operations.ts"
import { resealAll, type SealedSecrets } from "../kernel/Resealing.ts"
import { Secrets } from "../kernel/Secrets.ts"
import type { Timestamp } from "../kernel/Timestamps.ts"
import * as Changes from "../work/Changes.ts"
import { Decide, type DecisionContext, type Write } from "../work/Decide.ts"
import type { Respond } from "../work/RecordedResponses.ts"
import { lanes } from "../work/WorkQueue.ts"
import * as Events from "./Events.ts"
import {
  type CreatedWebhook,
  type CreateWebhook,
  TooManySecrets,
  TooManyWebhooks,
  type UpdateWebhook,
  type Webhook,
  type WebhookColumns,
  WebhookDisabled,
  type WebhookFilters,
  WebhookNotFound,
  type WebhookRow,
  WebhookRows,
  WebhookUrlRejected
} from "./Webhook.ts"
import { type Health, healthy } from "./WebhookHealth.ts"
import { rotated } from "./WebhookSecrets.ts"
import { newSecret } from "./WebhookSignature.ts"
import { AllowedAddresses } from "./WebhookTransport.ts"
import { accepted } from "./WebhookUrl.ts"

export * from "./Webhook.ts"
export * from "./WebhookHealth.ts"

// ----------------------------------------------------------- decisions

/**
 * How many pending deliveries fail in the same commit that disables their webhook.
 *
 * A webhook whose endpoint failed for days may have a million of them, too many
 * for one commit. The others fail when the worker claims them. A list returns
 * fewer than this, so it never shows the difference.
 */
export const abandoned_max = 200

/** The scopes that a key needs for a webhook with resources, because the endpoint receives what these scopes can read. */
const resource_scopes = ["contacts:read", "conversations:read"] as const

/** Returns the encryption context of a webhook's secret, so that the ciphertext cannot be decrypted for another webhook. */
export const secretContext = (organization_id: OrganizationId, id: WebhookId): string =>
  `webhook-secret|${organization_id}|${id}`

/** Returns the webhook as callers see it. */
export const toWebhook = (row: WebhookColumns): Webhook =>
  Struct.pick(row, ["id", "url", "event_types", "include_resource", "status", "created_at", "disabled_at"])

const equalTypes = Equivalence.Array(Equivalence.strictEqual<Events.EventType>())

/** Subscribes a URL to events. */
const create = (
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

/** Changes the URL, the event types, or whether events have resources. Another URL is another endpoint: it begins without failures and without a pause. */
const update = (
  row: WebhookRow,
  set: Partial<Pick<WebhookColumns, "event_types" | "include_resource" | "url">>
): Result.Result<Changes.Decision<Webhook>, WebhookDisabled> => {
  const { event_types, id: lane, status, url } = row
  const isMoved = set.url !== undefined && set.url !== url
  const isSame = !isMoved && (set.event_types === undefined || equalTypes(event_types, set.event_types)) &&
    (set.include_resource ?? row.include_resource) === row.include_resource
  if (isSame) return Result.succeed({ result: toWebhook(row), changes: Changes.none })
  if (status === "disabled") return Result.fail(new WebhookDisabled())
  const whole = { ...set, ...(isMoved ? healthy : {}) }
  return Result.succeed({
    result: toWebhook({ ...row, ...whole }),
    changes: Changes.all(
      WebhookRows.update(row, whole),
      isMoved
        ? Changes.throttle({ kind: "webhook_delivery", lane, until: null, cap: lanes.webhook_delivery.cap })
        : Changes.none
    )
  })
}

/** Replaces the encrypted signing secrets. Fails if `sealed_secret` is null, because there would be too many of them. */
const rotate = (
  row: WebhookRow,
  sealed_secret: string | null
): Result.Result<Changes.Decision<Webhook>, TooManySecrets | WebhookDisabled> =>
  row.status === "disabled"
    ? Result.fail(new WebhookDisabled())
    : sealed_secret === null
    ? Result.fail(new TooManySecrets({ limit: limits.webhook_secrets_max }))
    : Result.succeed({ result: toWebhook(row), changes: WebhookRows.update(row, { sealed_secret }) })

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
      Changes.raise(Events.make("webhook.disabled", { webhook_id, reason }, context)),
      { abandon: [{ webhook_id, limit: abandoned_max }] },
      Changes.throttle({ kind: "webhook_delivery", lane: webhook_id, until: null, cap: lanes.webhook_delivery.cap })
    )
  }
}

// ---------------------------------------------------------------- port

/**
 * Port: reads webhooks, and replaces their encrypted secrets. Commits write all else.
 *
 * **Contract** (checked by `conformance/Ports/Webhooks.ts`)
 *
 * - `find` returns the latest committed row, and none for another organization's webhook.
 * - `list` returns the organization's webhooks that pass every filter that is not
 *   null, newest first, then by ID descending, at most `limit`.
 * - `countActive` returns how many active webhooks the organization has.
 * - `sealedOtherwise` returns at most `limit` encrypted secrets of active webhooks
 *   of all organizations that do not begin with `prefix`, ordered by webhook ID,
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
  /**
   * Subscribes a URL to events. Only this result contains the signing secret (contract §14.2). With `include_resource`, the
   * actor's key needs the scopes to read contacts and conversations.
   */
  readonly create: Write<
    [input: CreateWebhook],
    CreatedWebhook,
    WebhookUrlRejected | TooManyWebhooks | InsufficientScope
  >
  /** Returns the 100 most recent webhooks that pass the filters, newest first. */
  readonly list: (filters: WebhookFilters) => Effect.Effect<ReadonlyArray<Webhook>, never, CurrentActor>
  readonly get: (id: WebhookId) => Effect.Effect<Webhook, WebhookNotFound, CurrentActor>
  /**
   * Changes the URL, the event types, or whether events have resources. Deliveries that are still pending go to the new URL.
   * The key needs the same scopes if the webhook has `include_resource` afterward.
   */
  readonly update: Write<
    [id: WebhookId, input: UpdateWebhook],
    Webhook,
    WebhookNotFound | WebhookDisabled | WebhookUrlRejected | InsufficientScope
  >
  /** Replaces the signing secret. Attempts are signed with both for 24 hours (contract §14.16). */
  readonly rotateSecret: Write<[id: WebhookId], CreatedWebhook, WebhookNotFound | WebhookDisabled | TooManySecrets>
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

      const acceptUrl = (given: string) =>
        Effect.mapError(Effect.fromResult(accepted(given, allowed)), (reason) => new WebhookUrlRejected({ reason }))

      /** Returns the webhook that a decision is about. */
      const found = (row: Option.Option<WebhookRow>) => Result.fromOption(row, () => new WebhookNotFound())

      const current = (row: Option.Option<WebhookRow>) => Result.map(found(row), toWebhook)

      const createWebhook = operation("webhooks.create")(function*<Out>(
        { event_types, include_resource = false, url: given }: CreateWebhook,
        respond?: Respond<CreatedWebhook, Out>
      ) {
        const { organization_id } = yield* CurrentActor
        if (include_resource) yield* requireScopes("webhooks.create", resource_scopes)
        const url = yield* acceptUrl(given)
        const id = WebhookId.make(ids.next())
        const signing_secret = Redacted.value(yield* newSecret)
        const sealed_secret = yield* secrets.seal(secretContext(organization_id, id), signing_secret)
        return yield* runAudited("webhooks.create", {
          // Loads the organization first: its version must not be newer than the count that it protects.
          load: Effect.all({
            organization: organizations.find(organization_id),
            active: store.countActive(organization_id)
          }),
          decide: (loaded, context) =>
            Result.map(
              create(loaded, { id, url, event_types, include_resource, sealed_secret }, context),
              ({ result, changes }) => ({ result: { ...result, signing_secret }, changes })
            )
        }, respond)
      })

      const list = operation("webhooks.list")(function*(filters: WebhookFilters) {
        const { organization_id } = yield* CurrentActor
        return yield* store.list(organization_id, filters, limits.webhook_list_size)
      })

      const get = operation("webhooks.get")(function*(id: WebhookId) {
        const { organization_id } = yield* CurrentActor
        return yield* Effect.flatMap(store.find(organization_id, id), (row) => Effect.fromResult(current(row)))
      })

      const updateWebhook = operation("webhooks.update")(function*<Out>(
        id: WebhookId,
        { url, ...rest }: UpdateWebhook,
        respond?: Respond<Webhook, Out>
      ) {
        const { organization_id } = yield* CurrentActor
        const set = url === undefined ? rest : { ...rest, url: yield* acceptUrl(url) }
        const mayRead = yield* Effect.result(requireScopes("webhooks.update", resource_scopes))
        return yield* runAudited("webhooks.update", {
          load: store.find(organization_id, id),
          decide: (row) =>
            Result.flatMap(found(row), (webhook) => {
              const includes = set.include_resource ?? webhook.include_resource
              return Result.flatMap(includes ? mayRead : Result.void, () => update(webhook, set))
            }),
          current
        }, respond)
      })

      /** Loads a webhook, and encrypts a new secret together with those that still sign. A secret that no key decrypts no longer signs. */
      const loadWith = Effect.fnUntraced(
        function*(organization_id: OrganizationId, id: WebhookId, signing_secret: string) {
          const row = yield* Effect.fromOption(yield* store.find(organization_id, id), () => new WebhookNotFound())
          const context = secretContext(organization_id, id)
          const stored = yield* secrets.open(context, row.sealed_secret)
          const now = yield* DateTime.now
          const text = Option.isNone(stored) ? signing_secret : rotated(stored.value, signing_secret, now)
          return { row, sealed_secret: text === null ? null : yield* secrets.seal(context, text) }
        }
      )

      const rotateSecret = operation("webhooks.rotate_secret")(
        function*<Out>(id: WebhookId, respond?: Respond<CreatedWebhook, Out>) {
          const { organization_id } = yield* CurrentActor
          const signing_secret = Redacted.value(yield* newSecret)
          return yield* runAudited("webhooks.rotate_secret", {
            load: Effect.result(loadWith(organization_id, id, signing_secret)),
            decide: (loaded) =>
              Result.map(
                Result.flatMap(loaded, ({ row, sealed_secret }) => rotate(row, sealed_secret)),
                ({ result, changes }) => ({ result: { ...result, signing_secret }, changes })
              )
          }, respond)
        }
      )

      const disableWebhook = operation("webhooks.disable")(
        function*<Out>(id: WebhookId, respond?: Respond<Webhook, Out>) {
          const { organization_id } = yield* CurrentActor
          return yield* runAudited("webhooks.disable", {
            load: store.find(organization_id, id),
            decide: (row, context) =>
              Result.map(found(row), (webhook) => {
                const health = Struct.pick(webhook, ["consecutive_failures", "first_failure_at"])
                return disable(webhook, health, context.now, "request", context)
              }),
            current
          }, respond)
        }
      )

      const reseal = resealAll(secrets, store, secretContext)

      return Webhooks.of({
        create: createWebhook,
        list,
        get,
        update: updateWebhook,
        rotateSecret,
        disable: disableWebhook,
        reseal
      })
    })
  )
}
