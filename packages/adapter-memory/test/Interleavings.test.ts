/**
 * Every look at the world and every change of it, of several operations, in an
 * order that a seed decides. Whatever the order, what comes out must be what
 * some order of whole operations gives.
 */
import { assert, it } from "@effect/vitest"
import { stores } from "@messaging-crm/adapter-memory"
import { World } from "@messaging-crm/adapter-memory/World"
import * as Fixtures from "@messaging-crm/conformance/Fixtures"
import {
  layer as operationsOver,
  observe,
  operations,
  outcomeOf,
  type Scene,
  unlessSerial
} from "@messaging-crm/conformance/Races"
import { CurrentActor } from "@messaging-crm/core/Actor"
import { Commit } from "@messaging-crm/core/Commit"
import { ContactFields, CreateContactField } from "@messaging-crm/core/ContactFields"
import { Contacts, UpdateContact } from "@messaging-crm/core/Contacts"
import type * as Crm from "@messaging-crm/core/Crm"
import type { Ids } from "@messaging-crm/core/Ids"
import { limits } from "@messaging-crm/core/Limits"
import { PersonalData, PersonalDataStore } from "@messaging-crm/core/PersonalData"
import { CreateTag, Tags } from "@messaging-crm/core/Tags"
import { CreateWebhook, Webhooks } from "@messaging-crm/core/Webhooks"
import { Context, Deferred, Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import * as Scenes from "../testing/Scenes.ts"

/** The number of the effect whose fiber waits for its turn at each step. */
const InTurn = Context.Reference<number | null>("Interleavings/InTurn", { defaultValue: () => null })

interface Waiting {
  readonly effect: number
  readonly turn: Deferred.Deferred<void>
}

class Turns extends Context.Service<Turns, { readonly waiting: Array<Waiting> }>()("Interleavings/Turns") {}

/** Returns the index of the waiting effect that continues, modulo their number. */
type Schedule = (step: number, waiting: ReadonlyArray<Waiting>) => number

/** Makes each step of the world wait until the schedule selects it. */
const scheduled = Layer.effect(
  World,
  Effect.gen(function*() {
    const { modify, read } = yield* World
    const { waiting } = yield* Turns
    const gate = Effect.gen(function*() {
      const effect = yield* InTurn
      if (effect === null) return
      const turn = yield* Deferred.make<void>()
      waiting.push({ effect, turn })
      yield* Deferred.await(turn)
    })
    return World.of({
      read: (look) => Effect.andThen(gate, read(look)),
      modify: (change) => Effect.andThen(gate, modify(change))
    })
  })
).pipe(Layer.provide(World.layer))

const turns = Layer.sync(Turns, () => ({ waiting: [] }))

type Storage = Layer.Layer<Crm.StoragePorts, never, World>

/** A commit that ignores versions, to test that the harness detects the lost update. */
const careless: Storage = Layer.effect(
  Commit,
  Effect.map(Commit, ({ commit }) =>
    Commit.of({
      commit: (organization_id, changes) =>
        Effect.firstSuccessOf([0, 1, 2, 3].map((missed) =>
          commit(organization_id, {
            ...changes,
            update: (changes.update ?? []).map((update) => ({ ...update, version: update.version + missed }))
          })
        ))
    }))
).pipe(Layer.provideMerge(stores))

const layer = (storage: Storage) =>
  operationsOver(storage).pipe(Layer.provideMerge(scheduled), Layer.provideMerge(turns))

const random = (seed: number) => {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
}

const settled = Effect.forEach(Array.from({ length: 40 }), () => Effect.yieldNow, { discard: true })

/**
 * Interleaves effects: at each step the schedule selects the waiting one that
 * continues, or the first one when the schedule has ended.
 */
const inTurns = Effect.fnUntraced(function*<A, R>(
  effects: ReadonlyArray<Effect.Effect<A, never, R>>,
  schedule: Schedule
) {
  const { waiting } = yield* Turns
  const steps: Array<number> = []
  const fibers = yield* Effect.forEach(
    effects,
    (effect, index) => Effect.forkChild(Effect.provideService(effect, InTurn, index))
  )
  for (;;) {
    yield* settled
    if (fibers.every((fiber) => fiber.pollUnsafe() !== undefined)) break
    const index = waiting.length === 0 ? 0 : schedule(steps.length, waiting) % waiting.length
    const [next] = waiting.splice(index, 1)
    if (next === undefined) yield* TestClock.adjust("10 millis")
    else {
      steps.push(index)
      yield* Deferred.succeed(next.turn, undefined)
    }
  }
  return { answers: yield* Effect.forEach(fibers, Fiber.join), steps }
})

/** Starts the operations over a store, each time with the same scene. */
const stage = Effect.fnUntraced(function*(storage: Storage) {
  const context = yield* Layer.build(Layer.fresh(layer(storage)))
  return { context, begin: yield* Effect.provideContext(Scenes.repeatable, context) }
})

type Stage = Effect.Success<ReturnType<typeof stage>>

/** Interleaves operations on a scene. */
const together = ({ begin, context }: Stage, names: ReadonlyArray<string>, schedule: Schedule) =>
  Effect.gen(function*() {
    const set = yield* begin
    const { answers, steps } = yield* inTurns(names.map((name) => outcomeOf(name, set)), schedule)
    return { outcome: JSON.stringify(yield* observe(set, answers)), steps }
  }).pipe(Effect.provideContext(context))

/** The store under test, and the one whose serial outcomes are right. */
interface Stages {
  readonly tested: Stage
  readonly serial: Stage
}

/** Returns the outcome if no serial order of the operations has it. */
const strange = Effect.fnUntraced(function*(
  { serial, tested }: Stages,
  names: ReadonlyArray<string>,
  schedule: Schedule
) {
  const { outcome, steps } = yield* together(tested, names, schedule)
  const expected = yield* Effect.provideContext(unlessSerial(serial.begin, names, outcome), serial.context)
  return expected === null ? null : { names, steps, outcome, expected }
})

type Failure = Effect.Success<ReturnType<typeof strange>>

/** Shrinks a failure to the fewest operations and the shortest schedule that still fail. */
const shrink = Effect.fnUntraced(function*(stages: Stages, failure: NonNullable<Failure>) {
  let least = failure
  for (let position = 0; position < least.names.length;) {
    const names = least.names.toSpliced(position, 1)
    let found: Failure = null
    for (let seed = 0; names.length > 1 && seed < 50 && found === null; seed++) {
      const next = random(seed)
      found = yield* strange(stages, names, () => Math.floor(next() * 100))
    }
    if (found === null) position++
    else least = found
  }
  for (let length = 0; length < least.steps.length; length++) {
    const prefix = least.steps.slice(0, length)
    const found = yield* strange(stages, least.names, (step) => prefix[step] ?? 0)
    if (found !== null) return { ...found, steps: prefix }
  }
  return least
})

const names = Object.keys(operations)

/** Runs two or three operations for each seed, and returns the first failure, shrunk. */
const search = Effect.fnUntraced(function*(storage: Storage, seeds: ReadonlyArray<number>, among = names) {
  const stages = { tested: yield* stage(storage), serial: yield* stage(stores) }
  for (const seed of seeds) {
    const next = random(seed)
    const chosen = Array.from({ length: next() < 0.7 ? 2 : 3 }, () => among[Math.floor(next() * among.length)] ?? "")
    const failure = yield* strange(stages, chosen, () => Math.floor(next() * 100))
    if (failure !== null) return { seed, ...yield* shrink(stages, failure) }
  }
  return null
})

const from = Number(process.env["INTERLEAVINGS_SEED"] ?? 0)
const count = Number(process.env["INTERLEAVINGS"] ?? 200)

it.effect(
  "have the outcome of some serial order, however their steps are interleaved",
  () =>
    Effect.gen(function*() {
      const found = yield* search(stores, Array.from({ length: count }, (_, index) => from + index))
      assert.isNull(found, JSON.stringify(found, null, 2))
    }),
  600_000
)

/** Operations of which one reads several rows that another changes: a schedule at random meets their few orders seldom. */
const related = {
  "give one contact to a person who writes for the first time while an upsert has their number": [
    "upsert by a new phone",
    "receive from a new number"
  ],
  "give one contact to a person to whom a conversation starts while an upsert has their number": [
    "upsert by a new phone",
    "start with a new number"
  ],
  "keep a report that arrives while its send is completed": ["dispatch", "hear of the send"],
  "record a send as sent that is given up while a report proves it": ["expire the lost send", "hear of the lost send"],
  "record a send as sent once that two reports prove": ["hear of the lost send", "hear that the lost send was read"],
  "revoke a key that is created while its member may no longer hold keys": ["create a key", "change a role"],
  "revoke a key that is created while its member is removed": ["create a key", "remove a member"]
}

for (const [name, among] of Object.entries(related)) {
  it.effect(`${name}, in either order`, () =>
    Effect.gen(function*() {
      const found = yield* search(stores, Array.from({ length: 60 }, (_, index) => index), among)
      assert.isNull(found, JSON.stringify(found, null, 2))
    }))
}

const named = (id: string) => `n${id.slice(-12)}`

const createWebhook = Webhooks.use((all) =>
  all.create(CreateWebhook.make({ url: "https://shop.example/crm", event_types: ["message.sent"] }))
)
const createTag = Effect.flatMap(
  Fixtures.uuid,
  (id) => Tags.use((all) => all.create(CreateTag.make({ name: named(id), color: "red" })))
)
const createContactField = Effect.flatMap(
  Fixtures.uuid,
  (id) =>
    ContactFields.use((all) =>
      all.create(CreateContactField.make({ key: named(id), name: "Size", type: "text", options: null }))
    )
)

/** A resource of which an organization has a limited number, with the creation of all but the last one, and of the last one. */
interface Limited {
  readonly fill: Effect.Effect<
    unknown,
    { readonly _tag: string },
    Crm.Services | Crm.StoragePorts | Ids | CurrentActor
  >
  readonly create: Limited["fill"]
}

const limited: Readonly<Record<string, Limited>> = {
  TooManyWebhooks: {
    fill: Effect.replicateEffect(createWebhook, limits.webhooks_active_max - 1),
    create: createWebhook
  },
  TooManyTags: {
    fill: CurrentActor.use(({ organization_id }) => Fixtures.tags(organization_id, limits.tags_max - 1)),
    create: createTag
  },
  TooManyContactFields: {
    fill: Effect.replicateEffect(createContactField, limits.contact_fields_max - 1),
    create: createContactField
  }
}

for (const [rejection, { create, fill }] of Object.entries(limited)) {
  it.effect(`let one of two take the last place, and reject the other: ${rejection}`, () =>
    Effect.gen(function*() {
      for (let seed = 0; seed < 10; seed++) {
        const next = random(seed)
        const answers = yield* Effect.gen(function*() {
          const { organization_id, owner } = yield* Fixtures.founded
          const as = Effect.provideService(CurrentActor, { organization_id, member_id: owner.id })
          yield* Effect.orDie(as(fill))
          const outcome = as(Effect.match(create, { onFailure: ({ _tag }) => _tag, onSuccess: () => "created" }))
          return (yield* inTurns([outcome, outcome], () => Math.floor(next() * 100))).answers
        }).pipe(Effect.provide(layer(stores), { local: true }))
        assert.sameMembers(answers, ["created", rejection], `with seed ${seed}`)
      }
    }))
}

/** The events with another network ID of the scene's person: a message from them, and a report about a message to them. */
const tells = {
  "a message": ({ channel, now, receive }: Scene) =>
    receive({
      event: "message_received",
      channel_id: channel.id,
      provider_message_id: "m.9",
      from: { external_id: "+4915112345678", aliases: ["one more"], display_name: "Kim", username: null },
      type: "text",
      text: "hello",
      media: null,
      sent_at: now
    }),
  "a report": ({ channel, first, now, receive }: Scene) =>
    receive({
      event: "message_status_reported",
      channel_id: channel.id,
      provider_message_id: "p.1",
      reference: first.id,
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

for (const [what, tell] of Object.entries(tells)) {
  it.effect(`leave an erased contact without the name that ${what} tells meanwhile`, () =>
    Effect.gen(function*() {
      const { begin, context } = yield* stage(stores)
      for (const [before, steps] of orders) {
        const names = yield* Effect.gen(function*() {
          const set = yield* begin
          const { id } = set.conversation.contact
          const erase = set.as(Effect.orDie(PersonalData.use((all) => all.erase(id))))
          yield* inTurns<void, Crm.Services>([erase, tell(set)], within(before, steps))
          return yield* PersonalDataStore.use((store) => store.networkIds(set.organization_id, id))
        }).pipe(Effect.provideContext(context))
        assert.deepStrictEqual(names, [], `with ${steps} steps after ${before}`)
      }
    }))
}

it.effect("leave no name of an erased contact in the event of a conversation that begins meanwhile", () =>
  Effect.gen(function*() {
    const { begin, context } = yield* stage(stores)
    for (const [before, steps] of orders) {
      const bodies = yield* Effect.gen(function*() {
        const set = yield* begin
        const { id } = set.conversation.contact
        const channel = yield* Fixtures.channel(set.organization_id)
        const input = CreateWebhook.make({
          url: "https://example.com/full",
          event_types: ["conversation.opened"],
          include_resource: true
        })
        yield* set.as(Effect.orDie(Webhooks.use((all) => all.create(input))))
        yield* set.as(
          Effect.orDie(Contacts.use((all) => all.update(id, UpdateContact.make({ first_name: "Canaria" }))))
        )
        const erase = set.as(Effect.orDie(PersonalData.use((all) => all.erase(id))))
        const hello = set.receive({
          event: "message_received",
          channel_id: channel.id,
          provider_message_id: "m.9",
          from: { external_id: "+4915112345678", display_name: "Kim", username: null },
          type: "text",
          text: "hello",
          media: null,
          sent_at: set.now
        })
        yield* inTurns<unknown, Crm.Services>([erase, hello], within(before, steps))
        return yield* Fixtures.storedEvents(set.organization_id, "conversation.opened")
      }).pipe(Effect.provideContext(context))
      assert.notInclude(
        bodies.map(({ full_body }) => full_body).join(),
        "Canaria",
        `with ${steps} steps after ${before}`
      )
    }
  }))

it.effect("detect a commit that overwrites a change", () =>
  Effect.gen(function*() {
    const found = yield* search(careless, Array.from({ length: 200 }, (_, index) => index), [
      "tag",
      "retag",
      "note",
      "send"
    ])
    assert.isNotNull(found)
    assert.isAtMost(found?.names.length ?? 9, 2)
  }))
