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
import { Context, Effect, Layer, Option, Redacted, Result, Struct } from "effect"
import { OrganizationStore } from "../accounts/Organizations.ts"
import { type Actor, CurrentActor } from "../kernel/Actor.ts"
import { Ids, type OrganizationId, WebhookId } from "../kernel/Ids.ts"
import { limits } from "../kernel/Limits.ts"
import { type InsufficientScope, operation, requireScopes } from "../kernel/Operations.ts"
import { resealAll, type SealedSecrets } from "../kernel/Resealing.ts"
import { Secrets } from "../kernel/Secrets.ts"
import { Decide, type Write } from "../work/Decide.ts"
import { Rows } from "../work/Rows.ts"
import { acceptedBy, destinationFor, Destinations } from "./Destinations.ts"
import {
  type CreatedWebhook,
  type CreateWebhook,
  type TooManySecrets,
  type TooManyWebhooks,
  toWebhook,
  type UpdateWebhook,
  type Webhook,
  type WebhookDisabled,
  type WebhookFilters,
  type WebhookNotFound,
  WebhookRows,
  WebhookUrlRejected
} from "./Webhook.ts"
import { create, disable, orNotFound, rotate, update, withSecret } from "./WebhookDecisions.ts"
import { newSecret, sealRotated, secretContext } from "./WebhookSignature.ts"
import { AllowedAddresses } from "./WebhookTransport.ts"
import { parseUrl } from "./WebhookUrl.ts"

export * from "./Webhook.ts"
export { abandoned_max } from "./WebhookDecisions.ts"

// ----------------------------------------------------------- decisions

/** The scopes that a key needs for a webhook with resources, because the endpoint receives what these scopes can read. */
const resource_scopes = ["contacts:read", "conversations:read"] as const

/** Makes the function that returns the URL as it is stored, or why the actor's webhook may not have it. */
const makeAcceptUrl = Effect.gen(function*() {
  const allowed = yield* AllowedAddresses
  const destinations = yield* Destinations

  return (given: string, actor: Actor): Result.Result<string, WebhookUrlRejected> => {
    const destination = destinationFor(destinations, given, actor)
    const accepted = destination === undefined ? parseUrl(given, allowed) : acceptedBy(destination, given)
    return Result.mapError(accepted, (reason) => new WebhookUrlRejected({ reason }))
  }
})

// ---------------------------------------------------------------- port

/**
 * Port: reads webhooks, and replaces their encrypted secrets. Commits write all else.
 *
 * **Contract** (checked by `conformance/Ports/Webhooks.ts`)
 *
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
  }
>()("@messaging-crm/core/Webhooks/WebhookStore") {}

// ---------------------------------------------------------- operations

const makeCreate = Effect.gen(function*() {
  const acceptUrl = yield* makeAcceptUrl
  const { write } = yield* Decide
  const ids = yield* Ids
  const organizations = yield* OrganizationStore
  const secrets = yield* Secrets
  const store = yield* WebhookStore

  return write("webhooks.create", function*(
    { event_types, include_resource = false, url: given }: CreateWebhook
  ) {
    const actor = yield* CurrentActor
    const { organization_id } = actor
    if (include_resource) yield* requireScopes("webhooks.create", resource_scopes)
    const url = yield* Effect.fromResult(acceptUrl(given, actor))
    const id = WebhookId.make(ids.next())
    const signing_secret = Redacted.value(yield* newSecret)
    const sealed_secret = yield* secrets.seal(secretContext(organization_id, id), signing_secret)
    return {
      // Loads the organization first: its version must not be newer than the count that it protects.
      load: Effect.all({
        organization: organizations.find(organization_id),
        active: store.countActive(organization_id)
      }),
      decide: (loaded, context) =>
        Result.map(
          create(loaded, { id, url, event_types, include_resource, sealed_secret }, context),
          withSecret(signing_secret)
        )
    }
  })
})

const makeUpdate = Effect.gen(function*() {
  const acceptUrl = yield* makeAcceptUrl
  const { write } = yield* Decide
  const rows = yield* Rows

  return write("webhooks.update", function*(
    id: WebhookId,
    { url, ...rest }: UpdateWebhook
  ) {
    const actor = yield* CurrentActor
    const { organization_id } = actor
    const set = url === undefined ? rest : { ...rest, url: yield* Effect.fromResult(acceptUrl(url, actor)) }
    const mayRead = yield* Effect.result(requireScopes("webhooks.update", resource_scopes))
    return {
      load: rows.find(WebhookRows, organization_id, id),
      decide: (row) =>
        Result.flatMap(orNotFound(row), (webhook) => {
          const includes = set.include_resource ?? webhook.include_resource
          return Result.flatMap(includes ? mayRead : Result.void, () => update(webhook, set))
        })
    }
  })
})

const makeRotateSecret = Effect.gen(function*() {
  const { write } = yield* Decide
  const rows = yield* Rows
  const secrets = yield* Secrets

  /** Loads a webhook, and encrypts the new secret with those of it that still sign. */
  const load = Effect.fnUntraced(function*(organization_id: OrganizationId, id: WebhookId, signing_secret: string) {
    const row = yield* rows.find(WebhookRows, organization_id, id)
    const sealed_secret = Option.isNone(row)
      ? null
      : yield* sealRotated(secrets, secretContext(organization_id, id), row.value.sealed_secret, signing_secret)
    return { row, sealed_secret }
  })

  return write("webhooks.rotate_secret", function*(id: WebhookId) {
    const { organization_id } = yield* CurrentActor
    const signing_secret = Redacted.value(yield* newSecret)
    return {
      load: load(organization_id, id, signing_secret),
      decide: ({ row, sealed_secret }) =>
        Result.map(
          Result.flatMap(orNotFound(row), (webhook) => rotate(webhook, sealed_secret)),
          withSecret(signing_secret)
        )
    }
  })
})

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
      const { write } = yield* Decide
      const rows = yield* Rows
      const secrets = yield* Secrets
      const store = yield* WebhookStore

      const list = operation("webhooks.list")(function*(filters: WebhookFilters) {
        const { organization_id } = yield* CurrentActor
        return yield* store.list(organization_id, filters, limits.webhook_list_size)
      })

      const get = operation("webhooks.get")(function*(id: WebhookId) {
        const { organization_id } = yield* CurrentActor
        return toWebhook(
          yield* Effect.flatMap(
            rows.find(WebhookRows, organization_id, id),
            (row) => Effect.fromResult(orNotFound(row))
          )
        )
      })

      const disableWebhook = write("webhooks.disable", function*(id: WebhookId) {
        const { organization_id } = yield* CurrentActor
        return {
          load: rows.find(WebhookRows, organization_id, id),
          decide: (row, context) =>
            Result.map(orNotFound(row), (webhook) => {
              const health = Struct.pick(webhook, ["consecutive_failures", "first_failure_at"])
              return disable(webhook, health, context.now, "request", context)
            })
        }
      })

      return Webhooks.of({
        create: yield* makeCreate,
        list,
        get,
        update: yield* makeUpdate,
        rotateSecret: yield* makeRotateSecret,
        disable: disableWebhook,
        reseal: resealAll(secrets, store, secretContext)
      })
    })
  )
}
