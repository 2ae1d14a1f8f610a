/** Reports that a network repeats after an erasure, and erasures that end before one of their commits. */
import { assert } from "@effect/vitest"
import { Commit } from "@messaging-crm/core/Commit"
import { Conversations } from "@messaging-crm/core/Conversations"
import * as Crm from "@messaging-crm/core/Crm"
import { Messages } from "@messaging-crm/core/Messages"
import { callbacks_ignored } from "@messaging-crm/core/Metrics"
import { PersonalData } from "@messaging-crm/core/PersonalData"
import { RootKeys } from "@messaging-crm/core/Secrets"
import { DateTime, Effect, Exit, Layer, Metric, Redacted } from "effect"
import { TestClock } from "effect/testing"
import type { It } from "../JourneyScene.ts"
import { canaries, person } from "./PersonScene.ts"

type Scene = Effect.Success<typeof person>

const ignored = Effect.map(
  Metric.value(callbacks_ignored.of({ reason: "erased" })),
  ({ count }) => Number(count)
)

const erase = ({ as, contact_id }: Scene) => as(PersonalData.use((data) => data.erase(contact_id)))

/** Returns every conversation with its messages, as a client reads them. */
const threads = ({ as }: Scene) =>
  as(Effect.gen(function*() {
    const { data } = yield* Conversations.use((all) => all.list({ cursor: null, page_size: 100 }))
    return yield* Effect.forEach(data, (conversation) =>
      Effect.map(
        Messages.use((all) => all.list(conversation.id, null)),
        (page) => ({ conversation, page })
      ))
  }))

/** Reports everything about the person's messages again, and further reports about them. Returns how many reports. */
const repeat = Effect.fnUntraced(
  function*({ channel, number, queued, receive, receiveMessage, receiveStatus, receiveText, sent }: Scene) {
    const at = yield* DateTime.now
    const [channel_id, provider_message_id] = [channel.id, `m.1.${number}`]
    yield* receiveText(provider_message_id, canaries.text)
    yield* receiveMessage(`m.2.${number}`, {
      type: "document",
      text: null,
      media: {
        kind: "document",
        mime_type: "application/pdf",
        filename: canaries.file,
        transcript: canaries.transcript,
        bytes: new TextEncoder().encode(canaries.bytes)
      }
    })
    yield* receive({ event: "message_edited", channel_id, provider_message_id, text: canaries.text, at })
    yield* receive({ event: "message_deleted", channel_id, provider_message_id, at })
    yield* receiveStatus(sent, { status: "read", at }, { reference: null })
    yield* receiveStatus(sent, { status: "read", at })
    yield* receive({
      event: "message_sent",
      channel_id,
      provider_message_id: `p.${sent}`,
      to: { external_id: number, display_name: canaries.name, username: null },
      type: "text",
      text: canaries.template,
      media: null,
      sent_at: at
    })
    // A send that had not ended, of which the network reports only now.
    yield* receiveStatus(queued, { status: "delivered", at })
    yield* receiveStatus(queued, { status: "read", at }, { reference: null })
    return 8
  }
)

/** The operations over a storage in which each commit after some fails. */
const crmUntil = (commits: number) =>
  Layer.unwrap(Effect.gen(function*() {
    const port = yield* Commit
    let left = commits
    const commit: Commit["Service"]["commit"] = (organization_id, changes) =>
      Effect.suspend(() => left-- > 0 ? port.commit(organization_id, changes) : Effect.die(new Error("killed")))
    return Layer.fresh(Crm.layer).pipe(Layer.provide(Layer.succeed(Commit, { commit })))
  }))

/** The operations of a process whose root keys begin with a new one, over the same storage. */
const crmUnderNewKey = Layer.unwrap(Effect.map(RootKeys, (keys) => {
  const rotated = [Redacted.make(new Uint8Array(32).fill(1)), ...keys]
  return Layer.fresh(Crm.layer).pipe(Layer.provide(Layer.succeed(RootKeys, rotated)))
}))

export const repeatedReports = (it: It) => {
  it.effect("is not restored by what the network repeats, and is a new contact with the next message", () =>
    Effect.gen(function*() {
      const scene = yield* person
      yield* erase(scene)
      yield* TestClock.adjust("1 second")
      const [before, count] = [yield* threads(scene), yield* ignored]
      const repeated = yield* repeat(scene)
      assert.deepStrictEqual(yield* threads(scene), before)
      assert.strictEqual((yield* ignored) - count, repeated)
      yield* TestClock.adjust("29 days")
      yield* Messages.use(({ purgeEarlyUpdates }) => purgeEarlyUpdates)
      yield* repeat(scene)
      assert.deepStrictEqual(yield* threads(scene), before)
      yield* scene.receiveText(`m.9.${scene.number}`, "Hello again")
      const added = (yield* threads(scene)).find(({ conversation }) =>
        before.every((each) => each.conversation.id !== conversation.id)
      )
      assert.deepStrictEqual(added?.page.data.map(({ text }) => text), ["Hello again"])
    }))

  it.effect("is not restored after the root key was rotated", () =>
    Effect.scoped(Effect.gen(function*() {
      const rotated = yield* Layer.build(crmUnderNewKey)
      const scene = yield* person
      yield* erase(scene)
      yield* TestClock.adjust("1 second")
      const before = yield* threads(scene)
      yield* Effect.provideContext(repeat(scene), rotated)
      assert.deepStrictEqual(yield* threads(scene), before)
    })))

  it.effect("is forgotten 30 days after the erasure: then a message ID is that of any message", () =>
    Effect.gen(function*() {
      const scene = yield* person
      yield* erase(scene)
      const before = yield* threads(scene)
      yield* TestClock.adjust("31 days")
      yield* Messages.use(({ purgeEarlyUpdates }) => purgeEarlyUpdates)
      yield* scene.receiveText(`m.1.${scene.number}`, "New")
      assert.lengthOf(yield* threads(scene), before.length + 1)
    }))

  it.effect("is not restored if an erasure ended before any of its commits and was run again", () =>
    Effect.gen(function*() {
      const finished: Array<number> = []
      for (let commits = 0; finished.length === 0; commits++) {
        const scene = yield* person
        const killed = yield* Effect.scoped(Effect.gen(function*() {
          const context = yield* Layer.build(crmUntil(commits))
          return yield* Effect.exit(Effect.provideContext(erase(scene), context))
        }))
        if (Exit.isSuccess(killed)) finished.push(commits)
        yield* erase(scene)
        const before = yield* threads(scene)
        for (const canary of [...Object.values(canaries), scene.number]) {
          assert.notInclude(JSON.stringify(before), canary, `after ${commits} commits`)
        }
        yield* repeat(scene)
        assert.deepStrictEqual(yield* threads(scene), before, `after ${commits} commits`)
      }
      assert.isAtLeast(finished[0] ?? 0, 5)
    }))
}
