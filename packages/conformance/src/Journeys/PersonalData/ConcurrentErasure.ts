/** Requests that change nothing, and whose response is committed after a concurrent erasure. */
import { assert } from "@effect/vitest"
import type { CurrentActor } from "@messaging-crm/core/Actor"
import { Commit } from "@messaging-crm/core/Commit"
import { Contacts, UpdateContact } from "@messaging-crm/core/Contacts"
import { AssignConversation, CloseConversation, Conversations } from "@messaging-crm/core/Conversations"
import * as Crm from "@messaging-crm/core/Crm"
import { ConflictBackoff } from "@messaging-crm/core/Decide"
import {
  type EncodedResponse,
  type Idempotency,
  IdempotencyKey,
  IdempotencyStore
} from "@messaging-crm/core/Idempotency"
import type { ContactId, ConversationId } from "@messaging-crm/core/Ids"
import type { Inbound } from "@messaging-crm/core/Inbound"
import { PersonalData, PersonalDataStore } from "@messaging-crm/core/PersonalData"
import { DateTime, Effect, Layer, Option } from "effect"
import { type Encoded, request } from "../IdempotentRequests/RequestScene.ts"
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
    Contacts.use((contacts) => contacts.update(contact_id, UpdateContact.make({}), undefined, respond)),
  "a close": ({ conversation_id }, respond) =>
    Conversations.use((conversations) => conversations.close(conversation_id, CloseConversation.make({}), respond)),
  "an assignment": ({ conversation_id }, respond) =>
    Conversations.use((conversations) =>
      conversations.assign(conversation_id, AssignConversation.make({ assigned_user_id: null }), respond)
    )
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
      Layer.provide(Layer.succeed(ConflictBackoff, { pauses: [] }))
    )
  }))

interface Steps {
  /** Runs before the messages of the first conversation are erased. */
  readonly beforeContents: Effect.Effect<void>
  /** Runs after each step that writes. */
  readonly afterStep: Effect.Effect<void>
}

/** The operations over a storage that runs effects between the steps of an erasure. */
const crmBetween = ({ afterStep, beforeContents }: Steps) =>
  Layer.unwrap(Effect.gen(function*() {
    const port = yield* Commit
    const store = yield* PersonalDataStore
    const commit: Commit["Service"]["commit"] = (organization_id, changes) =>
      Effect.tap(port.commit(organization_id, changes), afterStep)
    let left = [beforeContents]
    const between = PersonalDataStore.of({
      ...store,
      sends: (...of) =>
        Effect.suspend(() => {
          const first = left
          left = []
          return Effect.andThen(Effect.all(first), store.sends(...of))
        }),
      eraseCopies: (...of) => Effect.tap(store.eraseCopies(...of), afterStep)
    })
    return Layer.fresh(Crm.layer).pipe(
      Layer.provide(Layer.mergeAll(Layer.succeed(Commit, { commit }), Layer.succeed(PersonalDataStore, between)))
    )
  }))

const edited = `edited ${canaries.text}`

/** Returns the recorded responses of a write that runs after each step of an erasure, with an edit during it. */
const recordsOf = Effect.fnUntraced(function*(write: Write) {
  const { as, channel, contact_id, conversation_id, number, organization_id, receive } = yield* person
  const keys: Array<IdempotencyKey> = []
  // The services over the storage without steps in between.
  const services = yield* Effect.context<Contacts | Conversations | Idempotency | Inbound>()
  const writeOnce = Effect.suspend(() => {
    const key = IdempotencyKey.make(`between-steps-${keys.length}`)
    keys.push(key)
    return request((respond) => write({ contact_id, conversation_id }, respond), { key })
  }).pipe(as, Effect.provideContext(services), Effect.orDie, Effect.asVoid)
  const crm = yield* Layer.build(crmBetween({
    beforeContents: Effect.flatMap(DateTime.now, (at) =>
      receive({
        event: "message_edited",
        channel_id: channel.id,
        provider_message_id: `m.1.${number}`,
        text: edited,
        at
      })).pipe(Effect.provideContext(services)),
    afterStep: writeOnce
  }))
  yield* as(PersonalData.use((data) => data.erase(contact_id))).pipe(Effect.provideContext(crm))
  return yield* Effect.forEach(keys, (key) => IdempotencyStore.use((store) => store.find(organization_id, key)))
})

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
          for (const canary of [...Object.values(canaries), number]) assert.notInclude(body, canary)
        }
      }).pipe(Effect.scoped))

    it.effect(`is in no record of ${name} that changed nothing between two steps of the erasure`, () =>
      Effect.gen(function*() {
        const records = yield* recordsOf(write)
        assert.isAtLeast(records.length, 6)
        for (const record of records) {
          const body = Option.getOrUndefined(record)?.body ?? ""
          for (const canary of Object.values(canaries)) assert.notInclude(body, canary)
        }
      }).pipe(Effect.scoped))
  }
}
