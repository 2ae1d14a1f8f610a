/** Events of networks with external IDs of the form that an erasure gives to identities. */
import { assert } from "@effect/vitest"
import { Contacts } from "@messaging-crm/core/Contacts"
import { Conversations } from "@messaging-crm/core/Conversations"
import type { IdentityId } from "@messaging-crm/core/Ids"
import type { ProviderEvent } from "@messaging-crm/core/Inbound"
import { PersonalData } from "@messaging-crm/core/PersonalData"
import { DateTime, Effect } from "effect"
import * as Fixtures from "../../Fixtures.ts"
import type { It } from "../JourneyScene.ts"
import { person } from "./PersonScene.ts"

type Scene = Effect.Success<typeof person>

/** Returns every event that gives an external ID to an identity. */
const eventsWith = Effect.fnUntraced(function*({ channel, number }: Scene, identity_id: IdentityId) {
  const sent_at = yield* DateTime.now
  const named = { external_id: `erased-${identity_id}`, display_name: null, username: null }
  const message = { channel_id: channel.id, type: "text", text: "Hello", media: null, sent_at } as const
  const events: ReadonlyArray<ProviderEvent> = [
    Fixtures.messageReceived({ ...message, provider_message_id: `m.e1.${number}`, from: named }),
    { event: "message_sent", ...message, provider_message_id: `m.e2.${number}`, to: named },
    { event: "identity_changed", channel_id: channel.id, former_external_id: number, now: named }
  ]
  return events
})

export const erasedExternalIds = (it: It) => {
  it.effect("is erased although a network reports the external ID of an erasure before and after it", () =>
    Effect.gen(function*() {
      const scene = yield* person
      const { as, contact_id, receive } = scene
      const contact = as(Contacts.use((contacts) => contacts.get(contact_id)))
      const conversations = as(
        Conversations.use((conversations) => conversations.list({ cursor: null, page_size: 9 }))
      )
      const [before, known] = [yield* contact, yield* conversations]
      const [identity] = before.identities
      if (identity === undefined) return assert.fail("The contact has no identity.")
      const events = yield* eventsWith(scene, identity.id)
      yield* Effect.forEach(events, receive)
      assert.deepStrictEqual([yield* contact, yield* conversations], [before, known])
      yield* as(PersonalData.use((data) => data.erase(contact_id)))
      const erased = yield* contact
      assert.deepStrictEqual(erased.identities.map(({ external_id }) => external_id), [`erased-${identity.id}`])
      yield* Effect.forEach(events, receive)
      assert.deepStrictEqual(yield* contact, erased)
      assert.lengthOf((yield* conversations).data, known.data.length)
    }))
}
