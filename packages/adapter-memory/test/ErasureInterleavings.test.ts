/** Erases a contact while events that name the person are received, in orders that conflict. */
import { assert, it } from "@effect/vitest"
import { stores } from "@messaging-crm/adapter-memory"
import * as Fixtures from "@messaging-crm/conformance/Fixtures"
import { outcomeOf, type RaceScene, type Requirements } from "@messaging-crm/conformance/Races"
import { Contacts, UpdateContact } from "@messaging-crm/core/Contacts"
import type * as Crm from "@messaging-crm/core/Crm"
import { PersonalData, PersonalDataStore } from "@messaging-crm/core/PersonalData"
import { CreateWebhook, Webhooks } from "@messaging-crm/core/Webhooks"
import { Effect } from "effect"
import { inTurns, type Schedule, stage } from "./Turns.ts"

/** The events with another network ID of the scene's person: a message from them, and a report about a message to them. */
const eventsWithName = {
  "a message": ({ channel, now, reports }: RaceScene) =>
    reports.receive({
      event: "message_received",
      channel_id: channel.id,
      provider_message_id: "m.9",
      from: { external_id: "+4915112345678", aliases: ["one more"], display_name: "Kim", username: null },
      type: "text",
      text: "hello",
      media: null,
      sent_at: now
    }),
  "a report": ({ channel, now, reports, sends }: RaceScene) =>
    reports.receive({
      event: "message_status_reported",
      channel_id: channel.id,
      provider_message_id: "p.1",
      reference: sends.sent.id,
      recipient_aliases: ["one more"],
      status: "read",
      at: now
    })
}

/** A schedule in which the first effect makes some steps, then the second some, then the first one all of its own. */
const within = (before: number, steps: number): Schedule => {
  const left = [before, steps]
  return (_, waiting) => {
    const [first, second] = [0, 1].map((number) => waiting.findIndex(({ effect }) => effect === number))
    const [ofFirst = 0, ofSecond = 0] = left
    const isSecond = ofFirst === 0 && ofSecond > 0
    const chosen = isSecond ? second : first
    if (isSecond) left[1] = ofSecond - 1
    else if (ofFirst > 0) left[0] = ofFirst - 1
    return Math.max(chosen ?? 0, 0)
  }
}

/** An erasure takes many steps, so a report that meets one of the orders in which they conflict is rare at random. */
const orders = Array.from({ length: 15 }, (_, before) => [1, 2, 3, 4, 5].map((steps) => [before, steps] as const))
  .flat()

for (const [what, receiveEvent] of Object.entries(eventsWithName)) {
  it.effect(`leave an erased contact without the name that ${what} reports meanwhile`, () =>
    Effect.gen(function*() {
      const { context, restoreScene } = yield* stage(stores)
      for (const [before, steps] of orders) {
        const names = yield* Effect.gen(function*() {
          const scene = yield* restoreScene
          const { id } = scene.conversation.contact
          const erase = scene.as(Effect.orDie(PersonalData.use((all) => all.erase(id))))
          yield* inTurns<void, Crm.Services>([erase, receiveEvent(scene)], within(before, steps))
          return yield* PersonalDataStore.use((store) => store.networkIds(scene.organization_id, id))
        }).pipe(Effect.provideContext(context))
        assert.deepStrictEqual(names, [], `with ${steps} steps after ${before}`)
      }
    }))
}

it.effect("leave no text of a send that the provider accepts meanwhile", () =>
  Effect.gen(function*() {
    const { context, restoreScene } = yield* stage(stores)
    // A send makes all of its steps between two of the erasure.
    for (let before = 0; before < 60; before++) {
      const texts = yield* Effect.gen(function*() {
        const scene = yield* restoreScene
        const { contact, id } = scene.conversation
        const erase = scene.as(Effect.orDie(PersonalData.use((all) => all.erase(contact.id))))
        yield* inTurns<unknown, Requirements>([erase, outcomeOf("dispatch", scene)], within(before, 99))
        const messages = PersonalDataStore.use((store) =>
          store.messages(scene.organization_id, id, { after: null, size: 100 })
        )
        return (yield* messages).map(({ text }) => text)
      }).pipe(Effect.provideContext(context))
      assert.deepStrictEqual(new Set(texts), new Set(["[erased]"]), `after ${before}`)
    }
  }))

it.effect("leave no name of an erased contact in the event of a conversation that begins meanwhile", () =>
  Effect.gen(function*() {
    const { context, restoreScene } = yield* stage(stores)
    for (const [before, steps] of orders) {
      const bodies = yield* Effect.gen(function*() {
        const scene = yield* restoreScene
        const { id } = scene.conversation.contact
        const channel = yield* Fixtures.channel(scene.organization_id)
        const input = CreateWebhook.make({
          url: "https://example.com/full",
          event_types: ["conversation.opened"],
          include_resource: true
        })
        yield* scene.as(Effect.orDie(Webhooks.use((all) => all.create(input))))
        yield* scene.as(
          Effect.orDie(Contacts.use((all) => all.update(id, UpdateContact.make({ first_name: "Canaria" }))))
        )
        const erase = scene.as(Effect.orDie(PersonalData.use((all) => all.erase(id))))
        const hello = scene.reports.receive({
          event: "message_received",
          channel_id: channel.id,
          provider_message_id: "m.9",
          from: { external_id: "+4915112345678", display_name: "Kim", username: null },
          type: "text",
          text: "hello",
          media: null,
          sent_at: scene.now
        })
        yield* inTurns<unknown, Crm.Services>([erase, hello], within(before, steps))
        return yield* Fixtures.storedEvents(scene.organization_id, "conversation.opened")
      }).pipe(Effect.provideContext(context))
      assert.notInclude(
        bodies.map(({ full_body }) => full_body).join(),
        "Canaria",
        `with ${steps} steps after ${before}`
      )
    }
  }))

it.effect("are followed by no second contact if the network repeats the person's message during the erasure", () =>
  Effect.gen(function*() {
    const { context, restoreScene } = yield* stage(stores)
    for (const [before, steps] of orders) {
      const found = yield* Effect.gen(function*() {
        const scene = yield* restoreScene
        const { id } = scene.conversation.contact
        const erase = scene.as(Effect.orDie(PersonalData.use((all) => all.erase(id))))
        const repeated = scene.reports.receiveText("m.1", "+4915112345678", "hi")
        yield* inTurns<void, Crm.Services>([erase, repeated], within(before, steps))
        const { data } = yield* scene.as(
          Effect.orDie(Contacts.use((all) => all.list({ cursor: null, page_size: 100 })))
        )
        return data.filter(({ primary_phone }) => primary_phone === "+4915112345678")
      }).pipe(Effect.provideContext(context))
      assert.deepStrictEqual(found, [], `with ${steps} steps after ${before}`)
    }
  }))
