/** Events of commits while webhooks are created. */
import { assert, it } from "@effect/vitest"
import * as Fixtures from "@messaging-crm/conformance/Fixtures"
import { Contacts, UpdateContact } from "@messaging-crm/core/Contacts"
import { WebhookDeliveryStore } from "@messaging-crm/core/WebhookDeliveries"
import { Array, Context, Effect, Option } from "effect"
import { actor, unbounded } from "./CommitScene.ts"
import * as Processes from "./Processes.ts"

it.layer(Processes.database, { excludeTestServices: true })("Commit", (it) => {
  it.effect("delivers every event to webhooks that exist at its commit, among commits of organizations without webhooks", () =>
    Effect.gen(function*() {
      const crm = yield* Processes.startCrm
      const store = yield* WebhookDeliveryStore
      const contacts = yield* Effect.forEach(Array.range(1, 8), () =>
        Effect.gen(function*() {
          const ours = yield* Fixtures.organization
          return { ours, id: (yield* Fixtures.contact(ours)).id }
        }))
      const update = (job_title: string) =>
        Effect.forEach(
          contacts,
          ({ id, ours }) => actor(ours)(Context.get(crm, Contacts).update(id, UpdateContact.make({ job_title }))),
          unbounded
        )
      const subscribe = (some: ReadonlyArray<typeof contacts[number]>) =>
        Effect.forEach(some, ({ ours }) =>
          Effect.map(
            Fixtures.webhook(ours, { event_types: ["contact.updated"], include_resource: true }),
            (webhook) => ({ ours, id: webhook.id })
          ))
      const bodies = (webhooks: Effect.Success<ReturnType<typeof subscribe>>) =>
        Effect.forEach(webhooks, ({ id, ours }) =>
          Effect.flatMap(
            store.list(ours, id, 9),
            Effect.forEach((delivery) => Effect.map(store.load(ours, delivery.id), Option.getOrThrow))
          ))
      const titles = (found: Effect.Success<ReturnType<typeof bodies>>) =>
        found.map((each) => each.map(({ full_body }) => JSON.parse(full_body ?? "").data.contact.job_title).toSorted())

      yield* update("a")
      const first = yield* subscribe(contacts.slice(0, 4))
      yield* update("b")
      const second = yield* subscribe(contacts.slice(4))
      yield* update("c")
      yield* Fixtures.expandEvents
      assert.deepStrictEqual(titles(yield* bodies(first)), Array.replicate(["b", "c"], 4))
      assert.deepStrictEqual(titles(yield* bodies(second)), Array.replicate(["c"], 4))
      for (const { ours } of contacts) {
        assert.lengthOf(yield* Fixtures.storedEvents(ours, "contact.updated"), 3)
      }
    }))
})
