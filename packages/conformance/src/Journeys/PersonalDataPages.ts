/** Exports and erasures of a conversation with many sends, which are read in pages. */
import { assert, it } from "@effect/vitest"
import { CurrentActor } from "@messaging-crm/core/Actor"
import { ContactExport, PersonalData, PersonalDataStore } from "@messaging-crm/core/PersonalData"
import { SendRows } from "@messaging-crm/core/Sends"
import { Effect, Layer, Schema, Stream } from "effect"
import * as Fixtures from "../Fixtures.ts"
import * as Scene from "./JourneyScene.ts"

const count = 250
const decode = Schema.decodeEffect(Schema.fromJsonString(ContactExport))

/** A storage that records how many sends each read returns. */
const recordReads = (storage: Scene.Storage, reads: Array<number>): Scene.Storage =>
  Layer.effect(
    PersonalDataStore,
    Effect.map(PersonalDataStore, (store) =>
      PersonalDataStore.of({
        ...store,
        sends: (...options) =>
          Effect.tap(store.sends(...options), ({ length }) => Effect.sync(() => reads.push(length)))
      }))
  ).pipe(Layer.provideMerge(storage))

export const journeyTests = (storage: Scene.Storage) => {
  const reads: Array<number> = []
  it.layer(Scene.crm(recordReads(storage, reads)), { timeout: "5 minutes" })("a person with many sends", (it) => {
    it.effect("is exported and erased in pages, each of which is read once in each pass", () =>
      Effect.gen(function*() {
        const organization_id = yield* Fixtures.organization
        const thread = yield* Fixtures.thread(organization_id)
        const ids: Array<string> = []
        for (let number = 0; number < count; number++) {
          // Some have the same time.
          const send = { ...yield* Fixtures.newSend(thread), created_at: Fixtures.afterNoon(Math.floor(number / 7)) }
          ids.push(send.id)
          yield* Fixtures.mustCommit(organization_id, SendRows.insert(send))
        }
        const as = Effect.provideService(CurrentActor, { organization_id, member_id: null })
        const exportSends = Effect.gen(function*() {
          const personal = yield* PersonalData
          const { conversations: [only] } = yield* decode(yield* Stream.mkString(personal.export(thread.contact_id)))
          return only?.sends ?? []
        }).pipe(as, Effect.orDie)
        const before = yield* exportSends
        assert.deepStrictEqual(before.map(({ id }) => id).toSorted(), ids.toSorted())
        yield* PersonalData.use((personal) => personal.erase(thread.contact_id)).pipe(as, Effect.orDie)
        assert.isNotEmpty(reads)
        assert.isAtMost(Math.max(...reads), 100)
        assert.isAtMost(reads.reduce((sum, read) => sum + read, 0), 4 * count)
        const after = yield* exportSends
        assert.deepStrictEqual(after.map(({ id }) => id), before.map(({ id }) => id))
        assert.isTrue(after.every(({ recipient, status }) => recipient === "[erased]" && status === "failed"))
      }))
  })
}
