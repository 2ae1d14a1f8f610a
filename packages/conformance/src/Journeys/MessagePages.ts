/** Pages of messages with long texts. */
import { assert, it } from "@effect/vitest"
import { CurrentActor } from "@messaging-crm/core/Actor"
import { limits } from "@messaging-crm/core/Limits"
import { Messages } from "@messaging-crm/core/Messages"
import { Effect } from "effect"
import * as Fixtures from "../Fixtures.ts"
import * as Scene from "./JourneyScene.ts"

const long = "a".repeat(100_000)

export const journeyTests = (storage: Scene.Storage) => {
  it.layer(Scene.crm(storage), { timeout: "5 minutes" })("pages of messages", (it) => {
    it.effect("end where their texts get too long, and lose or repeat no message", () =>
      Effect.gen(function*() {
        const organization_id = yield* Fixtures.organization
        const thread = yield* Fixtures.thread(organization_id)
        const ids: Array<string> = []
        for (let number = 0; number < 50; number++) {
          const text = number === 7 ? long.repeat(15) : long
          const created_at = Fixtures.afterNoon(number)
          ids.unshift((yield* Fixtures.message(organization_id, thread, { created_at, text })).id)
        }
        const list = (cursor: string | null) =>
          Messages.use((messages) => messages.list(thread.conversation_id, cursor)).pipe(
            Effect.provideService(CurrentActor, { organization_id, member_id: null })
          )
        const pages = [yield* list(null)]
        for (let next = pages[0]?.next_cursor ?? null; next !== null; next = pages.at(-1)?.next_cursor ?? null) {
          pages.push(yield* list(next))
        }
        assert.deepStrictEqual(pages.flatMap(({ data }) => data.map(({ id }) => id)), ids)
        // About nine messages fit a page.
        assert.isBelow(pages.length, 10)
        for (const { data } of pages) {
          const bytes = data.reduce((sum, { text }) => sum + (text?.length ?? 0), 0)
          assert.isTrue(data.length === 1 || bytes <= limits.page_bytes_max, `${data.length} messages, ${bytes}`)
        }
      }))
  })
}
