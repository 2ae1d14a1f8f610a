/** Tests of the guarantees of `WebhookReplayStore`. */
import { assert } from "@effect/vitest"
import { WebhookReplayId } from "@messaging-crm/core/Ids"
import { type WebhookReplayColumns, WebhookReplayRows, WebhookReplayStore } from "@messaging-crm/core/WebhookReplays"
import { Effect, Option } from "effect"
import * as Fixtures from "../Fixtures.ts"
import { afterNoon, type It } from "../Fixtures.ts"

export const portTests = (it: It) => {
  it.effect("returns a replay as it was last committed, until it is removed", () =>
    Effect.gen(function*() {
      const store = yield* WebhookReplayStore
      const [ours, theirs] = [yield* Fixtures.organization, yield* Fixtures.organization]
      const { id: webhook_id } = yield* Fixtures.webhook(ours)
      const row: WebhookReplayColumns = {
        id: WebhookReplayId.make(yield* Fixtures.uuid),
        webhook_id,
        since: afterNoon(1),
        created_at: afterNoon(2),
        position_at: afterNoon(1),
        position_id: yield* Fixtures.uuid
      }
      assert.deepStrictEqual(yield* store.find(ours, webhook_id), Option.none())
      yield* Fixtures.mustCommit(ours, WebhookReplayRows.insert(row))
      assert.deepStrictEqual(yield* store.find(ours, webhook_id), Option.some({ ...row, version: 1 }))
      assert.deepStrictEqual(yield* store.find(theirs, webhook_id), Option.none())
      assert.strictEqual(yield* Fixtures.commitOutcome(ours, WebhookReplayRows.insert(row)), "Conflict")
      const moved = { position_at: afterNoon(3), position_id: yield* Fixtures.uuid }
      yield* Fixtures.mustCommit(ours, WebhookReplayRows.update({ webhook_id, version: 1 }, moved))
      assert.deepStrictEqual(yield* store.find(ours, webhook_id), Option.some({ ...row, ...moved, version: 2 }))
      yield* Fixtures.mustCommit(ours, WebhookReplayRows.remove({ webhook_id }))
      assert.deepStrictEqual(yield* store.find(ours, webhook_id), Option.none())
    }))
}
