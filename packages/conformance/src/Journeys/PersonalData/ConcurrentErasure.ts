/** Requests that change nothing, and whose response is committed after a concurrent erasure. */
import { assert } from "@effect/vitest"
import type { CurrentActor } from "@messaging-crm/core/Actor"
import { Commit } from "@messaging-crm/core/Commit"
import { Contacts, UpdateContact } from "@messaging-crm/core/Contacts"
import { CloseConversation, Conversations } from "@messaging-crm/core/Conversations"
import * as Crm from "@messaging-crm/core/Crm"
import { ConflictBackoff } from "@messaging-crm/core/Decide"
import { type EncodedResponse, IdempotencyKey, IdempotencyStore } from "@messaging-crm/core/Idempotency"
import type { ContactId, ConversationId } from "@messaging-crm/core/Ids"
import { PersonalData } from "@messaging-crm/core/PersonalData"
import { Duration, Effect, Layer, Option } from "effect"
import { type Encoded, request, text } from "../IdempotentRequests/RequestScene.ts"
import type { It } from "../JourneyScene.ts"
import { canaries, person } from "./PersonScene.ts"

const key = IdempotencyKey.make("unchanging-key")

interface Ids {
  readonly contact_id: ContactId
  readonly conversation_id: ConversationId
}

type Write = (
  ids: Ids,
  respond: Encoded
) => Effect.Effect<EncodedResponse, { readonly _tag: string }, Contacts | Conversations | CurrentActor>

/** The writes that return the person's data, each with a request that changes nothing. */
const writes: Readonly<Record<string, Write>> = {
  "an update": ({ contact_id }, respond) =>
    Contacts.use((contacts) => contacts.update(contact_id, UpdateContact.make({}), respond)),
  "a close": ({ conversation_id }, respond) =>
    Conversations.use((conversations) => conversations.close(conversation_id, CloseConversation.make({}), respond)),
  "an assignment": ({ conversation_id }, respond) =>
    Conversations.use((conversations) => conversations.assign(conversation_id, { assigned_user_id: null }, respond))
}

/** The operations over a storage that runs an effect before the first commit. */
const crmAfter = (before: Effect.Effect<void>) =>
  Layer.unwrap(Effect.gen(function*() {
    const port = yield* Commit
    let left = [before]
    const commit: Commit["Service"]["commit"] = (organization_id, changes) =>
      Effect.suspend(() => {
        const first = left
        left = []
        return Effect.andThen(Effect.all(first), port.commit(organization_id, changes))
      })
    return Layer.fresh(Crm.layer).pipe(
      Layer.provide(Layer.succeed(Commit, { commit })),
      Layer.provide(Layer.succeed(ConflictBackoff, Duration.zero))
    )
  }))

export const concurrentErasures = (it: It) => {
  for (const [name, write] of Object.entries(writes)) {
    it.effect(`is in no record of ${name} that changed nothing and was committed after the erasure`, () =>
      Effect.gen(function*() {
        const { as, contact_id, conversation_id, number, organization_id } = yield* person
        const data = yield* PersonalData
        const crm = yield* Layer.build(crmAfter(Effect.orDie(as(data.erase(contact_id)))))
        const response = yield* request((respond) => write({ contact_id, conversation_id }, respond), { key }).pipe(
          Effect.provideContext(crm),
          as
        )
        const record = yield* IdempotencyStore.use((store) => store.find(organization_id, key))
        for (const body of [response.body, Option.getOrThrow(record).body]) {
          for (const canary of [...Object.values(canaries), number]) assert.notInclude(text(body), canary)
        }
      }).pipe(Effect.scoped))
  }
}
