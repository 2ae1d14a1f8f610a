import { assert, it } from "@effect/vitest"
import * as Memory from "@messaging-crm/adapter-memory"
import * as Fixtures from "@messaging-crm/conformance/Fixtures"
import * as Provider from "@messaging-crm/conformance/Provider"
import { CurrentActor } from "@messaging-crm/core/Actor"
import { ConversationId } from "@messaging-crm/core/Ids"
import { insert, Messages } from "@messaging-crm/core/Messages"
import { Effect, Option } from "effect"

const crm = Provider.crm(Memory.layer)

it.effect("a cursor of a conversation's messages is valid for this conversation alone", () =>
  Effect.gen(function*() {
    const organization_id = yield* Fixtures.organization
    const list = (conversation_id: ConversationId, cursor: string | null) =>
      Messages.use((messages) => messages.list(conversation_id, cursor)).pipe(
        Effect.provideService(CurrentActor, { organization_id, member_id: null })
      )
    const [one, other] = [yield* Fixtures.thread(organization_id), yield* Fixtures.thread(organization_id)]
    for (let number = 0; number < 51; number++) {
      const message = yield* Fixtures.newMessage(one.conversation_id, { created_at: Fixtures.afterNoon(number) })
      yield* Fixtures.mustCommit(organization_id, insert(one.channel.id, one.contact_id, Option.none(), message))
    }
    const first = yield* list(one.conversation_id, null)
    assert.lengthOf(first.data, 50)
    const rest = yield* list(one.conversation_id, first.next_cursor)
    assert.deepStrictEqual([rest.data.length, rest.next_cursor], [1, null])
    assert.deepStrictEqual(yield* list(other.conversation_id, null), { data: [], next_cursor: null })
    const rejected = (conversation_id: ConversationId, cursor: string | null) =>
      Effect.map(Effect.flip(list(conversation_id, cursor)), ({ _tag }) => _tag)
    assert.strictEqual(yield* rejected(other.conversation_id, first.next_cursor), "CursorInvalid")
    const unknown = ConversationId.make(yield* Fixtures.uuid)
    for (const cursor of [null, first.next_cursor]) {
      assert.strictEqual(yield* rejected(unknown, cursor), "ConversationNotFound")
    }
  }).pipe(Effect.provide(crm)))
