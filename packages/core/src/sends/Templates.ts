/**
 * Templates: message templates, read live from the provider (contract §9.5).
 *
 * A copy of each catalog, used for at most ten minutes, lets sends be checked
 * while the provider is down. Lists are never read from it.
 */
import { Cache, Context, Duration, Effect, Exit, Layer, Option, Result, Schema } from "effect"
import { type Channel, ChannelRows, networkOf } from "../catalog/Channels.ts"
import { CurrentActor } from "../kernel/Actor.ts"
import type { ChannelId, OrganizationId } from "../kernel/Ids.ts"
import { operation } from "../kernel/Operations.ts"
import { resultFunction } from "../kernel/ResultFunction.ts"
import { traced } from "../kernel/Traces.ts"
import { Rows } from "../work/Rows.ts"
import { type Content, MessagingProvider, ProviderUnavailable } from "./MessagingProvider.ts"
import type { Template, TemplateChoice } from "./Template.ts"
import { fillTemplate, type TemplateNotApproved, type TemplateValuesMismatch } from "./TemplateFilling.ts"

export * from "./Template.ts"
export * from "./TemplateFilling.ts"

// -------------------------------------------------------------- errors

/** The channel's business account has no such template. */
export class TemplateNotFound extends Schema.TaggedError<TemplateNotFound>()("TemplateNotFound", {}) {}

/** The channel is not a phone-messaging channel, so templates cannot be sent on it. */
export class ChannelTypeUnsuited extends Schema.TaggedError<ChannelTypeUnsuited>()("ChannelTypeUnsuited", {}) {}

/** Why a template cannot be sent. */
export type TemplateRejected = TemplateNotFound | TemplateNotApproved | TemplateValuesMismatch | ProviderUnavailable

// ----------------------------------------------------------- decisions

/** The result of looking a template up in the catalog of a channel's business account. */
export type FoundTemplate = Result.Result<Template, TemplateNotFound | ProviderUnavailable>

/** A lookup without a template to look for. */
export const noTemplate: FoundTemplate = Result.fail(new TemplateNotFound())

/** Returns the content of a send with a template that was found on the channel. */
export const templateContent = resultFunction(
  function*(channel: Channel, found: FoundTemplate, { components }: TemplateChoice) {
    if (!networkOf(channel.type).has_templates) return yield* Result.fail(new ChannelTypeUnsuited())
    const template = yield* found
    const filled = yield* fillTemplate(template, components)
    const { id, language, name } = template
    const chosen = { id, name, language, components: filled.components }
    return { type: "template", template: chosen, text: filled.text } satisfies Content
  }
)

// ---------------------------------------------------------- operations

/** How long a list waits for the provider: less than a read may take (contract §2.1), so that it fails with the reason. */
const list_time_max = Duration.seconds(6)
/** The maximum age of a copy that a send is checked against while the provider is down. */
const copy_age_max = Duration.minutes(10)
/** The same, while the provider is up. */
const fresh_copy_age_max = Duration.seconds(30)
/** How long sends use the older copy after the provider has failed, before it is called again. */
const retry_pause = Duration.seconds(1)
/** The capacity of the cache, in business accounts. */
const accounts_max = 10_000

/** Makes the functions that read the catalog of a business account: live, or a copy of it. */
const makeCatalogs = Effect.gen(function*() {
  const provider = yield* MessagingProvider
  // Only `load` fills it.
  const copies = yield* Cache.makeWith(
    (_account: string): Effect.Effect<ReadonlyArray<Template>, ProviderUnavailable> =>
      Effect.fail(new ProviderUnavailable()),
    { capacity: accounts_max, timeToLive: (exit) => Exit.isSuccess(exit) ? copy_age_max : Duration.zero }
  )

  const load = (account: string) =>
    Effect.tap(provider.templates(account), (templates) => Cache.set(copies, account, templates))

  // Concurrent readers share one call, because providers limit the rate of calls. The result is not cached.
  const live = yield* Cache.make({ lookup: load, capacity: accounts_max, timeToLive: Duration.zero })

  const fresh = yield* Cache.makeWith((account: string) => Cache.get(live, account), {
    capacity: accounts_max,
    timeToLive: (exit) => Exit.isSuccess(exit) ? fresh_copy_age_max : retry_pause
  })

  return {
    readLive: (account: string) => Cache.get(live, account),
    readCopy: (account: string) => Effect.catch(Cache.get(fresh, account), () => Cache.get(copies, account))
  }
})

/** Operations on the templates of the current actor's channels. */
export class Templates extends Context.Service<Templates, {
  /** Returns every template of every business account, read live. */
  readonly list: Effect.Effect<ReadonlyArray<Template>, ProviderUnavailable, CurrentActor>
  /** Returns a template of a business account, at most 30 seconds old, or from an older copy while the provider is down. */
  readonly find: (
    business_account_id: string,
    id: string
  ) => Effect.Effect<Template, TemplateNotFound | ProviderUnavailable>
}>()("@messaging-crm/core/Templates") {
  static readonly layer = Layer.effect(
    Templates,
    Effect.gen(function*() {
      const rows = yield* Rows
      const { readCopy, readLive } = yield* makeCatalogs

      const accounts = CurrentActor.use(({ organization_id }) => rows.list(ChannelRows, organization_id)).pipe(
        Effect.map((all) =>
          Array.from(new Set(all.flatMap((channel) => channel.phone_messaging_business_account_id ?? [])))
        )
      )

      const list = operation("templates.list")(function*() {
        const all = yield* accounts
        const read = Effect.forEach(all, readLive, { concurrency: 4 })
        const catalogs = yield* Effect.timeoutOrElse(read, {
          duration: list_time_max,
          orElse: () => Effect.fail(new ProviderUnavailable())
        })
        return catalogs.flat()
      })()

      const find = traced("Templates.find")(function*(business_account_id: string, id: string) {
        const all = yield* readCopy(business_account_id)
        return yield* Effect.fromNullishOr(all.find((candidate) => candidate.id === id)).pipe(
          Effect.mapError(() => new TemplateNotFound())
        )
      })

      return Templates.of({ list, find })
    })
  )
}

/** Makes the function that loads a channel, and the template that is chosen on it. */
export const makeLoadTemplate = Effect.gen(function*() {
  const rows = yield* Rows
  const templates = yield* Templates

  return Effect.fnUntraced(function*(organization_id: OrganizationId, channel_id: ChannelId, choice: TemplateChoice) {
    const channel = yield* rows.find(ChannelRows, organization_id, channel_id)
    const account = Option.getOrNull(channel)?.phone_messaging_business_account_id ?? null
    const template: FoundTemplate = account === null
      ? noTemplate
      : yield* Effect.result(templates.find(account, choice.id))
    return { channel, template }
  })
})
