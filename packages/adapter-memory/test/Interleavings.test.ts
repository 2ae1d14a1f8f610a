/**
 * Interleaves the reads and changes of the world that several operations make, in an order from a seed. Every outcome must
 * be that of some serial order of the operations.
 */
import { assert, it } from "@effect/vitest"
import { stores } from "@messaging-crm/adapter-memory"
import * as Fixtures from "@messaging-crm/conformance/Fixtures"
import * as LostUpdate from "@messaging-crm/conformance/LostUpdate"
import {
  findViolation,
  observe,
  type OperationName,
  operations,
  outcomeOf,
  type SerialOutcomes
} from "@messaging-crm/conformance/Races"
import { randomNumbers } from "@messaging-crm/conformance/RandomNumbers"
import { CurrentActor } from "@messaging-crm/core/Actor"
import { ContactFields, CreateContactField } from "@messaging-crm/core/ContactFields"
import type * as Crm from "@messaging-crm/core/Crm"
import type { Ids } from "@messaging-crm/core/Ids"
import { limits } from "@messaging-crm/core/Limits"
import { CreateTag, Tags } from "@messaging-crm/core/Tags"
import { CreateWebhook, Webhooks } from "@messaging-crm/core/Webhooks"
import { Effect, Layer, Struct } from "effect"
import { inTurns, layer, type Schedule, type Stage, stage, type Storage } from "./Turns.ts"

/** A store with a defect, to test that the harness detects the lost update. */
const defective: Storage = LostUpdate.layer.pipe(Layer.provideMerge(stores))

/** Interleaves operations on a scene. */
const interleave = ({ context, restoreScene }: Stage, names: ReadonlyArray<OperationName>, schedule: Schedule) =>
  Effect.gen(function*() {
    const scene = yield* restoreScene
    const { results, steps } = yield* inTurns(names.map((name) => outcomeOf(name, scene)), schedule)
    return { outcome: JSON.stringify(yield* observe(scene, results)), steps }
  }).pipe(Effect.provideContext(context))

/** The store under test, the one whose serial outcomes are right, and those outcomes that are known. */
interface Stages {
  readonly tested: Stage
  readonly serial: Stage
  readonly known: SerialOutcomes
}

/** Returns the outcome if no serial order of the operations has it. */
const findFailure = Effect.fnUntraced(function*(
  { known, serial, tested }: Stages,
  names: ReadonlyArray<OperationName>,
  schedule: Schedule
) {
  const { outcome, steps } = yield* interleave(tested, names, schedule)
  const expected = yield* Effect.provideContext(
    findViolation(known, serial.restoreScene, names, outcome),
    serial.context
  )
  return expected === null ? null : { names, steps, outcome, expected }
})

type Failure = Effect.Success<ReturnType<typeof findFailure>>

/** Shrinks a failure to the fewest operations and the shortest schedule that still fail. */
const shrink = Effect.fnUntraced(function*(stages: Stages, failure: NonNullable<Failure>) {
  let least = failure
  for (let position = 0; position < least.names.length;) {
    const names = least.names.toSpliced(position, 1)
    let found: Failure = null
    for (let seed = 0; names.length > 1 && seed < 50 && found === null; seed++) {
      const next = randomNumbers(seed)
      found = yield* findFailure(stages, names, () => Math.floor(next() * 100))
    }
    if (found === null) position++
    else least = found
  }
  for (let length = 0; length < least.steps.length; length++) {
    const prefix = least.steps.slice(0, length)
    const found = yield* findFailure(stages, least.names, (step) => prefix[step] ?? 0)
    if (found !== null) return { ...found, steps: prefix }
  }
  return least
})

const names: ReadonlyArray<OperationName> = Struct.keys(operations)

/** Operations that read again after their commit was rejected, or that commit several times. */
const multistep = [
  "add a note under a key",
  "upsert by number under a key",
  "import a line",
  "dispatch",
  "change the number",
  "learn a user ID",
  "replay to the webhook"
] as const satisfies ReadonlyArray<OperationName>

/** Runs two or three operations for each seed, and returns the first failure, shrunk. */
const search = Effect.fnUntraced(function*(storage: Storage, seeds: ReadonlyArray<number>, among = names) {
  const stages = {
    tested: yield* stage(storage),
    serial: yield* stage(stores),
    known: new Map<string, Array<string>>()
  }
  for (const seed of seeds) {
    const next = randomNumbers(seed)
    const drawn = Array.from({ length: next() < 0.7 ? 2 : 3 }).flatMap(() =>
      among[Math.floor(next() * among.length)] ?? []
    )
    // An erasure deletes the stored callbacks of a report, so that none of two concurrent repeats restores the person. A report
    // without a callback, as here, has no such protection.
    const chosen = drawn.includes("erase") ? Array.from(new Set(drawn)) : drawn
    const failure = yield* findFailure(stages, chosen, () => Math.floor(next() * 100))
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

/** Operations of which one reads several rows that another changes: random schedules rarely have the critical orders. */
const related: Readonly<Record<string, ReadonlyArray<OperationName>>> = {
  "give one contact to a person who writes for the first time while an upsert has their number": [
    "upsert by a new phone",
    "receive from a new number"
  ],
  "give one contact to a person to whom a conversation starts while an upsert has their number": [
    "upsert by a new phone",
    "start with a new number"
  ],
  "edit a contact that meets a condition, or reject the edit if another one ends the condition meanwhile": [
    "edit the contact unless it has a city",
    "replace the tags and the city"
  ],
  "keep a report that arrives while its send is completed": ["dispatch", "receive the status of the send"],
  "mark a send as sent if a report proves it while it expires": [
    "expire the lost send",
    "receive the status of the lost send"
  ],
  "mark a send as sent once if two reports prove it": [
    "receive the status of the lost send",
    "receive a read status of the lost send"
  ],
  "revoke a key that is created while its member may no longer hold keys": ["create a key", "change a role"],
  "revoke a key that is created while its member is removed": ["create a key", "remove a member"],
  "fail or reject a message to a person whose data is erased meanwhile": ["send", "erase"],
  "fail a template to a person whose data is erased meanwhile, or send it to a new contact": ["start", "erase"],
  "erase a message that arrives during an erasure, or store it for a new contact": ["receive", "erase"],
  "erase a message of the business's app that arrives during an erasure": [
    "receive a message from the business's app",
    "erase"
  ],
  "erase a message that is sent during an erasure": ["dispatch", "erase"],
  "erase what an upsert writes during an erasure, or write it to a new contact": ["upsert by number", "erase"],
  "reopen a conversation that is closed while a message arrives, or store the message first": ["receive", "close"]
}

/**
 * A schedule in which the first effect makes some steps, then the second all of its own, then the first the rest. `isBetween`
 * is whether the first had steps left.
 */
const around = (before: number) => {
  let isBetween = false
  const schedule: Schedule = (step, waiting) => {
    const [first, second] = [0, 1].map((number) => waiting.findIndex(({ effect }) => effect === number))
    if (step === before) isBetween = first !== -1
    return Math.max((step < before ? first : second) ?? 0, 0)
  }
  return { schedule, isBetween: () => isBetween }
}

const makeStages = Effect.gen(function*() {
  return {
    tested: yield* stage(stores),
    serial: yield* stage(stores),
    known: new Map<string, Array<string>>()
  }
})

/** Lets the second operation commit between every two steps of the first. Returns the first failure. */
const searchBetween = Effect.fnUntraced(function*(stages: Stages, among: ReadonlyArray<OperationName>) {
  for (let before = 0;; before++) {
    const { isBetween, schedule } = around(before)
    const failure = yield* findFailure(stages, among, schedule)
    if (failure !== null || !isBetween()) return failure
  }
})

for (const [name, among] of Object.entries(related)) {
  it.effect(`${name}, in either order`, () =>
    Effect.gen(function*() {
      const found = yield* search(stores, Array.from({ length: 60 }, (_, index) => index), among)
      assert.isNull(found, JSON.stringify(found, null, 2))
      const stages = yield* makeStages
      for (const order of [among, among.toReversed()]) {
        const failure = yield* searchBetween(stages, order)
        assert.isNull(failure, JSON.stringify(failure, null, 2))
      }
    }))
}

for (const first of multistep) {
  it.effect(`have the outcome of some serial order if any other commits between two steps of: ${first}`, () =>
    Effect.gen(function*() {
      const stages = yield* makeStages
      for (const second of names) {
        const failure = yield* searchBetween(stages, [first, second])
        assert.isNull(failure, JSON.stringify(failure, null, 2))
      }
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
        const next = randomNumbers(seed)
        const results = yield* Effect.gen(function*() {
          const { organization_id, owner } = yield* Fixtures.organizationWithOwner
          const as = Effect.provideService(CurrentActor, { organization_id, member_id: owner.id })
          yield* Effect.orDie(as(fill))
          const outcome = as(Effect.match(create, { onFailure: ({ _tag }) => _tag, onSuccess: () => "created" }))
          return (yield* inTurns([outcome, outcome], () => Math.floor(next() * 100))).results
        }).pipe(Effect.provide(layer(stores), { local: true }))
        assert.sameMembers(results, ["created", rejection], `with seed ${seed}`)
      }
    }))
}

it.effect("detect a commit that overwrites a change", () =>
  Effect.gen(function*() {
    const found = yield* search(defective, Array.from({ length: 200 }, (_, index) => index), [
      "replace the tags",
      "replace the tags and the city",
      "add a note",
      "send"
    ])
    assert.isNotNull(found)
    assert.isAtMost(found?.names.length ?? 9, 2)
  }))
