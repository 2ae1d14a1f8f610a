/** Rows that the tests of commits change. */
import { assert } from "@effect/vitest"
import * as Changes from "@messaging-crm/core/Changes"
import { ContactStore } from "@messaging-crm/core/Contacts"
import { ConversationStore } from "@messaging-crm/core/Conversations"
import { IdempotencyStore } from "@messaging-crm/core/Idempotency"
import type { ConversationId, OrganizationId } from "@messaging-crm/core/Ids"
import type { ClaimedWork } from "@messaging-crm/core/WorkQueue"
import { Effect, Option } from "effect"
import * as Fixtures from "../../Fixtures.ts"
import { afterNoon } from "../../Fixtures.ts"

/** Returns the contact of a thread, with its version. */
export const contactOf = (organization_id: OrganizationId, { contact_id }: Pick<Changes.Activity, "contact_id">) =>
  ContactStore.use((store) => Effect.map(store.load(organization_id, contact_id), Option.getOrThrow))

/** Returns the conversation of a thread, with its version. */
export const conversationOf = (
  organization_id: OrganizationId,
  { conversation_id }: { conversation_id: ConversationId }
) => ConversationStore.use((store) => Effect.map(store.find(organization_id, conversation_id), Option.getOrThrow))

/** A touch of a thread. */
export const activity = (
  { contact_id, conversation_id }: Pick<Changes.Activity, "contact_id" | "conversation_id">,
  fields: Partial<Changes.Activity> = {}
) =>
  Changes.touch({
    conversation_id,
    contact_id,
    at: afterNoon(1),
    preview: "x",
    conversation_version: null,
    last_inbound_at: null,
    ...fields
  })

/** Finds the record that was stored under the key of `Fixtures.idempotencyRecord`. */
export const findRecord = (organization_id: OrganizationId) =>
  IdempotencyStore.use((store) => store.find(organization_id, Fixtures.idempotencyRecord.key))

/** Claims work of every kind until none is left, and returns what belongs to this organization. */
export const claim = Effect.fnUntraced(function*(organization_id: OrganizationId, at = afterNoon(9)) {
  const items: Array<ClaimedWork> = []
  for (;;) {
    const claimed = yield* Fixtures.claimWork({ at })
    if (claimed.length === 0) return items.filter((item) => item.organization_id === organization_id)
    items.push(...claimed)
  }
})

/** A claimed item in a lane of its own. */
export const claimed = Effect.fnUntraced(function*(organization_id: OrganizationId) {
  const work = yield* Fixtures.newWork(yield* Fixtures.uuid)
  yield* Fixtures.mustCommit(organization_id, Changes.enqueue(work))
  const [item] = yield* claim(organization_id)
  return item ?? assert.fail("The item was not claimed.")
})
