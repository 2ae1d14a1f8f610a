/** The conversation of an event: the first field of `data` in the bytes of every event (contract §13.1). */
import { assert, it } from "@effect/vitest"
import { Contacts, CreateContact, UpdateContact } from "@messaging-crm/core/Contacts"
import { AssignConversation, CloseConversation, Conversations } from "@messaging-crm/core/Conversations"
import { AnyEventType, Events, EventStore } from "@messaging-crm/core/Events"
import { ContactId, nil, type OrganizationId } from "@messaging-crm/core/Ids"
import { ProviderRejected } from "@messaging-crm/core/MessagingProvider"
import { WebhookDeliveries } from "@messaging-crm/core/WebhookDeliveries"
import { CreateWebhook, Webhooks } from "@messaging-crm/core/Webhooks"
import { DateTime, Effect } from "effect"
import * as Fixtures from "../Fixtures.ts"
import * as Scene from "./JourneyScene.ts"

const every = { cursor: null, page_size: 100 }

/** Returns the bytes of every stored event, the oldest first. */
const bodiesOf = (organization_id: OrganizationId) =>
  EventStore.use((store) =>
    store.next(
      organization_id,
      { types: AnyEventType.literals, until: DateTime.makeUnsafe("9999-12-31T00:00:00.000Z") },
      { after: { at: DateTime.makeUnsafe(0), id: nil }, size: 100 }
    )
  ).pipe(Effect.map((events) => events.map(({ body }) => body)))

/** Raises an event of each type. Returns the ID of the only conversation. */
const raiseEachType = Effect.fnUntraced(function*(scene: Effect.Success<typeof Scene.makeScene>) {
  const { as, get, organization_id, provider, receiveStatus, receiveText, start } = scene
  const { id: sent, conversation_id } = yield* start()
  yield* Scene.work
  yield* receiveStatus(sent, { status: "read", at: yield* DateTime.now })
  yield* receiveText("m.1", "Hello?")
  yield* provider.respond(() => Effect.fail(new ProviderRejected({ reason: "provider_rejected" })))
  const { id: failed } = yield* start()
  yield* Scene.work
  assert.strictEqual((yield* get(failed)).status, "failed")
  const { id: assigned_user_id } = yield* Fixtures.member(organization_id)
  const conversations = yield* Conversations
  const { contact } = yield* as(conversations.assign(conversation_id, AssignConversation.make({ assigned_user_id })))
  yield* as(conversations.close(conversation_id, CloseConversation.make({})))
  const update = UpdateContact.make({ company: "Acme" })
  yield* as(Contacts.use((contacts) => contacts.update(ContactId.make(contact.id), update)))
  const webhooks = yield* Webhooks
  const { id } = yield* as(
    webhooks.create(CreateWebhook.make({ url: "https://shop.example/crm", event_types: ["message.sent"] }))
  )
  yield* as(WebhookDeliveries.use((deliveries) => deliveries.test(id)))
  yield* as(webhooks.disable(id))
  return conversation_id
})

const conversationsOfEvents = (it: Scene.It) => {
  it.effect("is in every event: of a contact the last one or null, and null of a webhook", () =>
    Effect.gen(function*() {
      const scene = yield* Scene.makeScene
      const { as, organization_id } = scene
      const conversation_id = yield* raiseEachType(scene)
      const other = yield* as(
        Contacts.use((contacts) => contacts.create(CreateContact.make({ first_name: "Lee" })))
      )
      yield* as(Contacts.use((contacts) => contacts.update(other.id, UpdateContact.make({ first_name: "Bo" }))))
      const bodies = yield* bodiesOf(organization_id)
      const events = bodies.map((body) => JSON.parse(body))
      assert.sameMembers(Array.from(new Set(events.map(({ type }) => type))), [...AnyEventType.literals])
      for (const [index, { data, type }] of events.entries()) {
        const isNull = type === "contact.created" || type.startsWith("webhook.") || data.contact_id === other.id
        const text = JSON.stringify({ conversation_id: isNull ? null : conversation_id }).slice(0, -1)
        assert.include(bodies[index], `"data":${text}`, type)
      }
      const listed = yield* as(Events.use(({ list }) => list(every)))
      assert.deepStrictEqual(
        listed.data.map(({ data, id }) => [id, data.conversation_id]).toSorted(),
        events.map(({ data, id }) => [id, data.conversation_id]).toSorted()
      )
    }))
}

export const journeyTests = (storage: Scene.Storage) => {
  it.layer(Scene.crm(storage), { timeout: "5 minutes" })("the conversation of an event", conversationsOfEvents)
}
