import { assert, it } from "@effect/vitest"
import { CurrentActor } from "@messaging-crm/core/Actor"
import { Contacts } from "@messaging-crm/core/Contacts"
import { Conversations } from "@messaging-crm/core/Conversations"
import { Worker } from "@messaging-crm/core/Worker"
import { Effect, Layer } from "effect"
import * as BuiltInProviders from "../../src/BuiltInProviders.ts"
import { createOrganization } from "../../src/dev/DemoSeed.ts"
import * as Layers from "../../src/Layers.ts"

const { background, outbound } = BuiltInProviders.mock

const service = Layer.merge(Worker.layerLoop, background).pipe(
  Layer.provideMerge(Layers.crm(Layers.memory, { outbound }))
)

it.live("the first contact of the demo has a name, a number, and the first conversation, in which it can get a text", () =>
  Effect.gen(function*() {
    const { member_id, organization_id } = yield* createOrganization
    yield* Effect.gen(function*() {
      const page = { cursor: null, page_size: 1 }
      const { data: [contact] } = yield* Contacts.use(({ list }) => list(page))
      assert.deepStrictEqual(
        [contact?.first_name, contact?.last_name, contact?.primary_phone],
        ["Mateo", "García", "+34612345605"]
      )
      const { data: [conversation] } = yield* Conversations.use(({ list }) => list(page))
      assert.deepStrictEqual(
        [conversation?.id, conversation?.channel.type, conversation?.status],
        [contact?.last_conversation_id, "phone_messaging", "open"]
      )
      assert.isNotNull(conversation?.reply_window_expires_at)
    }).pipe(Effect.provideService(CurrentActor, { member_id, organization_id }))
  }).pipe(Effect.provide(service)))
