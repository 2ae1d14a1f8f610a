/** Concurrent commits, and commits of several organizations. */
import { assert } from "@effect/vitest"
import * as Changes from "@messaging-crm/core/Changes"
import { deliveryIdOf } from "@messaging-crm/core/Changes"
import { ContactRows } from "@messaging-crm/core/Contacts"
import { ConversationRows } from "@messaging-crm/core/Conversations"
import { EventId, type OrganizationId } from "@messaging-crm/core/Ids"
import { MediaRows, MediaStore } from "@messaging-crm/core/Media"
import { OrganizationRows } from "@messaging-crm/core/Organizations"
import { Rows } from "@messaging-crm/core/Rows"
import { TagRows } from "@messaging-crm/core/Tags"
import { WebhookDeliveryRows } from "@messaging-crm/core/WebhookDeliveries"
import { WebhookRows } from "@messaging-crm/core/Webhooks"
import type { ClaimedWork } from "@messaging-crm/core/WorkQueue"
import { Effect, Exit, Option } from "effect"
import * as Fixtures from "../../Fixtures.ts"
import { commitOutcome, type It } from "../../Fixtures.ts"
import { activity, claimed, contactOf, conversationOf } from "./CommitScene.ts"

/** Commits of an organization by their expected outcome, at least three of each, and the rows that prove the outcome. */
const mixture = Effect.fnUntraced(function*(ours: OrganizationId) {
  const contacts = yield* Effect.replicateEffect(Fixtures.contact(ours), 12)
  const rename = (from: number, version: number) =>
    contacts.slice(from, from + 3).map(({ id }) => ContactRows.update({ id, version }, { city: "new" }))
  const settle = (item: ClaimedWork) => Changes.settle({ claimed: item, outcome: "finish" })
  const [taken, again] = [yield* Fixtures.newTag("taken"), yield* Fixtures.newTag("again")]
  yield* Fixtures.mustCommit(ours, TagRows.insert(taken), { response: Fixtures.idempotencyRecord })
  const lost = yield* claimed(ours)
  yield* Fixtures.finishWork(lost)
  const held = yield* Effect.replicateEffect(claimed(ours), 4)
  const commits: Record<
    Exclude<Effect.Success<ReturnType<typeof commitOutcome>>, "Unconfirmed">,
    ReadonlyArray<Changes.Changes>
  > = {
    committed: [...rename(0, 1), ...held.map(settle), {
      response: { ...Fixtures.idempotencyRecord, key: "another-key" }
    }],
    Conflict: [...rename(3, 7), TagRows.insert({ ...again, name_key: taken.name_key })],
    KeyUsed: rename(6, 1).map((update) => Changes.all(update, { response: Fixtures.idempotencyRecord })),
    LeaseLost: rename(9, 1).map((update) => Changes.all(update, settle(lost)))
  }
  const shown = Effect.gen(function*() {
    const cities = yield* Effect.forEach(contacts, ({ id }) => contactOf(ours, { contact_id: id }))
    return {
      cities: cities.map(({ city }) => city),
      tags: yield* Fixtures.tagNames(ours),
      held: yield* Effect.forEach(held, Fixtures.finishWork)
    }
  })
  return { ours, commits, shown }
})

/** Tests of concurrent commits, which a store may apply in one step. */
export const concurrentCommits = (it: It) => {
  it.effect("applies or rejects each of many concurrent commits as if it were alone", () =>
    Effect.gen(function*() {
      const mixtures = [
        yield* Effect.flatMap(Fixtures.organization, mixture),
        yield* Effect.flatMap(Fixtures.organization, mixture)
      ]
      const commits = mixtures.flatMap(({ commits, ours }) =>
        Object.entries(commits).flatMap(([expected, alike]) => alike.map((changes) => ({ expected, changes, ours })))
      )
      const outcomes = yield* Effect.forEach(commits, ({ changes, ours }) => commitOutcome(ours, changes), {
        concurrency: "unbounded"
      })
      assert.deepStrictEqual(outcomes, commits.map(({ expected }) => expected))
      for (const { shown } of mixtures) {
        assert.deepStrictEqual(yield* shown, {
          cities: [...Array<string | null>(3).fill("new"), ...Array<string | null>(9).fill(null)],
          tags: ["taken"],
          held: [false, false, false, false]
        })
      }
    }))

  it.effect("takes effect if a concurrent commit fails with a defect", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const contacts = yield* Effect.replicateEffect(Fixtures.contact(ours), 5)
      const twice = ({ id }: (typeof contacts)[number]) => {
        const update = ContactRows.update({ id, version: 1 }, { city: "new" })
        return Changes.all(update, update)
      }
      const exits = yield* Effect.forEach(
        contacts,
        (contact, index) =>
          Effect.exit(commitOutcome(
            ours,
            index === 2 ? twice(contact) : ContactRows.update({ id: contact.id, version: 1 }, { city: "new" })
          )),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(exits.map(Exit.isSuccess), [true, true, false, true, true])
      assert.isTrue(exits.slice(2, 3).every(Exit.hasDies))
    }))
}

/** Inserts rows of an organization, and makes the reads of them. */
const rowsOf = Effect.fnUntraced(function*(ours: OrganizationId) {
  const thread = yield* Fixtures.thread(ours)
  const tag = yield* Fixtures.tag(ours, "a")
  const file = yield* Fixtures.file(ours)
  yield* Fixtures.mustCommit(ours, { response: Fixtures.idempotencyRecord })
  const webhook = yield* Fixtures.webhook(ours)
  const event = yield* Fixtures.newEvent()
  yield* Fixtures.mustCommit(ours, Changes.raise(event))
  yield* Fixtures.mustCommit(ours, Changes.expand(event.id))
  const state = Effect.gen(function*() {
    return [
      yield* contactOf(ours, thread),
      yield* conversationOf(ours, thread),
      yield* Fixtures.tagNames(ours),
      yield* Fixtures.deliveriesOf(ours, webhook),
      yield* Rows.use((rows) => rows.find(WebhookRows, ours, webhook.id)),
      Option.isSome(yield* MediaStore.use((store) => store.find(ours, file.id)))
    ]
  })
  return { event, file, thread, state, tag, webhook }
})

/** Tests that a commit reaches the rows of its organization only. */
export const isolation = (it: It) => {
  it.effect("reads and writes nothing of another organization", () =>
    Effect.gen(function*() {
      const [ours, theirs] = [yield* Fixtures.organization, yield* Fixtures.organization]
      const { event, file, thread, state, tag, webhook } = yield* rowsOf(ours)
      const before = yield* state
      const conversation = { id: thread.conversation_id, version: 1 }
      const delivery = { id: deliveryIdOf(event.id, webhook.id), version: 1 }
      for (
        const changes of [
          ContactRows.update({ id: thread.contact_id, version: 1 }, { city: "x" }),
          ContactRows.expect({ id: thread.contact_id, version: 1 }),
          ConversationRows.update(conversation, { status: "closed" }),
          TagRows.update({ id: tag.id, version: 1 }, { color: "blue" }),
          WebhookRows.update({ id: webhook.id, version: 1 }, { status: "disabled" }),
          WebhookDeliveryRows.update(delivery, { status: "failed" }),
          OrganizationRows.update({ id: ours, version: 1 }, {})
        ]
      ) {
        assert.strictEqual(yield* commitOutcome(theirs, changes), "Conflict")
      }
      yield* Effect.exit(Fixtures.commit(theirs, activity(thread)))
      yield* Fixtures.mustCommit(theirs, Changes.removable(TagRows).remove(tag), MediaRows.remove(file))
      yield* Fixtures.mustCommit(theirs, { abandon: [{ webhook_id: webhook.id, limit: 9 }] })
      yield* Fixtures.mustCommit(theirs, Changes.raise({ ...event, id: EventId.make(yield* Fixtures.uuid) }))
      yield* Fixtures.mustCommit(theirs, Changes.expand(event.id))
      assert.deepStrictEqual(yield* state, before)
      const tagOfTheirs = yield* Fixtures.newTag("a")
      assert.strictEqual(
        yield* commitOutcome(theirs, TagRows.insert(tagOfTheirs), { response: Fixtures.idempotencyRecord }),
        "committed"
      )
    }))
}
