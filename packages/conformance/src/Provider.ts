import * as Crm from "@messaging-crm/core/Crm"
import { Ids } from "@messaging-crm/core/Ids"
import {
  type Accepted,
  MessagingProvider,
  type OutboundMessage,
  type ProviderBusy,
  type ProviderHeld,
  type ProviderOutcomeUnknown,
  type ProviderRejected
} from "@messaging-crm/core/MessagingProvider"
import type { Template } from "@messaging-crm/core/Templates"
import { Context, Effect, Layer, Ref } from "effect"
import * as Endpoints from "./Endpoints.ts"

export type Outcome = Effect.Effect<Accepted, ProviderRejected | ProviderBusy | ProviderHeld | ProviderOutcomeUnknown>

/** A scripted provider: tests set its responses, and read the requests that it received. */
export class ScriptedProvider extends Context.Service<ScriptedProvider, {
  readonly received: Effect.Effect<ReadonlyArray<OutboundMessage>>
  /** Sets its responses from now on. */
  readonly respond: (how: (message: OutboundMessage) => Outcome) => Effect.Effect<void>
}>()("@messaging-crm/conformance/ScriptedProvider") {}

/** Accepts a message, under an ID that contains its reference. */
export const accept = ({ reference }: OutboundMessage): Outcome =>
  Effect.succeed({ provider_message_id: `p.${reference}` })

/** The only template of every account: a greeting with one placeholder. */
export const greeting = (account: string): Template => ({
  id: "greeting",
  name: "greeting",
  language: "en",
  category: "UTILITY",
  status: "APPROVED",
  phone_messaging_business_account_id: account,
  parameter_format: "POSITIONAL",
  components: [{ type: "BODY", text: "Hello {{1}}", format: null, buttons: null }]
})

/** The greeting as a send contains it, with the text in its placeholder. */
export const greetingWith = (text = "Kim") => ({
  id: "greeting",
  components: [{ type: "body" as const, parameters: [{ type: "text" as const, text }] }]
})

/** Layer for the scripted provider and the scripted endpoints, the systems outside the service. They accept everything until a test says otherwise. */
export const layer = (dedup: MessagingProvider["Service"]["dedup"]) => Layer.merge(provider(dedup), Endpoints.layer)

/** Layer for every operation over a storage, with the scripted provider and endpoints. */
export const crm = <E, R>(
  storage: Layer.Layer<Crm.StoragePorts, E, R>,
  dedup: MessagingProvider["Service"]["dedup"] = "callback_ref"
) => Crm.layer.pipe(Layer.provideMerge(Layer.mergeAll(storage, layer(dedup), Ids.layer)))

const provider = (dedup: MessagingProvider["Service"]["dedup"]) =>
  Layer.effectContext(Effect.gen(function*() {
    const received = yield* Ref.make<ReadonlyArray<OutboundMessage>>([])
    const respond = yield* Ref.make(accept)
    return Context.make(MessagingProvider, {
      dedup,
      deliver: Effect.fnUntraced(function*(message: OutboundMessage) {
        yield* Ref.update(received, (messages) => [...messages, message])
        return yield* (yield* Ref.get(respond))(message)
      }),
      templates: (account) => Effect.succeed([greeting(account)])
    }).pipe(
      Context.add(ScriptedProvider, { received: Ref.get(received), respond: (how) => Ref.set(respond, how) })
    )
  }))
