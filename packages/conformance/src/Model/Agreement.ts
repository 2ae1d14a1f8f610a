/** Compares results of the service with those of the model. */
import { assert } from "@effect/vitest"
import { CurrentActor } from "@messaging-crm/core/Actor"
import { Channels } from "@messaging-crm/core/Channels"
import { ContactFields } from "@messaging-crm/core/ContactFields"
import { Contacts as ContactOperations, everyContact } from "@messaging-crm/core/Contacts"
import { Conversations as ConversationOperations } from "@messaging-crm/core/Conversations"
import { type AnyEventType, type Event, Events } from "@messaging-crm/core/Events"
import { canonicalJson } from "@messaging-crm/core/Idempotency"
import { ConversationId, OrganizationId, SendId, WebhookId } from "@messaging-crm/core/Ids"
import { Members } from "@messaging-crm/core/Members"
import { Messages } from "@messaging-crm/core/Messages"
import type { Page } from "@messaging-crm/core/Page"
import { Sends } from "@messaging-crm/core/Sends"
import { Tags } from "@messaging-crm/core/Tags"
import { Templates } from "@messaging-crm/core/Templates"
import { WebhookDeliveries } from "@messaging-crm/core/WebhookDeliveries"
import { Webhooks } from "@messaging-crm/core/Webhooks"
import { Effect, Schema } from "effect"
import { ScriptedEndpoints } from "../Endpoints.ts"
import { greeting } from "../Provider.ts"
import * as Contacts from "./Contacts.ts"
import * as Conversations from "./Conversations.ts"
import { assertSame } from "./Differences.ts"
import { listMessages } from "./Messages.ts"
import { type ModelScene, swapped } from "./ModelScene.ts"
import { shown } from "./Names.ts"
import { newestFirst, ok, type Outcome, rejected, showSend, showWebhook } from "./Results.ts"
import type { Conversation, Organization } from "./State.ts"

/** Runs an operation for a member of the organization. */
const as = (organization: Organization) =>
  Effect.provideService(CurrentActor, {
    organization_id: OrganizationId.make(organization.id),
    member_id: organization.members[0]?.id ?? null
  })

/** Returns an error as the model represents it. */
export const rejection = (error: { readonly _tag: string }): Outcome =>
  rejected(error._tag, "param" in error ? error.param : undefined)

/** Runs an operation for our organization, and compares its result with the model's. */
export const agree = Effect.fnUntraced(function*<A, E extends { readonly _tag: string }, R>(
  { names, ours }: ModelScene,
  expected: Outcome,
  operation: Effect.Effect<A, E, R>
) {
  const result: Outcome = yield* Effect.match(as(ours)(operation), {
    onSuccess: ok,
    onFailure: rejection
  })
  assertSame(shown(result), names.resolve(expected, result))
})

/** Reads a list to its end, and compares each page. The other organization must not be able to use our cursor. */
export const agreeOnPages = Effect.fnUntraced(function*<A, E extends { readonly _tag: string }, R>(
  scene: ModelScene,
  size: number,
  expected: ReadonlyArray<unknown>,
  list: (cursor: string | null) => Effect.Effect<Page<A>, E, R>
) {
  let cursor: string | null = null
  for (let start = 0; start === 0 || start < expected.length; start += size) {
    const { data, next_cursor }: Page<A> = yield* Effect.orDie(as(scene.ours)(list(cursor)))
    assertSame(shown(data), scene.names.resolve(expected.slice(start, start + size), data))
    assert.strictEqual(next_cursor === null, start + size >= expected.length)
    if (next_cursor !== null) {
      yield* agree(swapped(scene), rejected("CursorInvalid"), list(next_cursor))
    }
    cursor = next_cursor
  }
})

/** Compares our contacts and conversations, and the messages and sends of some. New names are bound to their IDs here. */
export const agreeOnLists = Effect.fnUntraced(function*(scene: ModelScene, touched: ReadonlyArray<Conversation>) {
  const { names, ours } = scene
  const first_page = { cursor: null, page_size: 100 }
  const first = (data: unknown) => ok({ data, next_cursor: null })
  // The ID of a new contact, which may be any, decides its place among those with the same time.
  const { data } = yield* as(ours)(Effect.orDie(ContactOperations.use(({ list }) => list(first_page))))
  names.bindNewest(ours.contacts.map(({ id }) => id), data.map(({ id }) => id))
  const contacts = Contacts.listContacts(ours, { ...everyContact, tag: null })
  yield* agree(scene, first(contacts), ContactOperations.use(({ list }) => list(first_page)))
  const filters = { status: null, assigned_user_id: null, unassigned: null, contact: null, channel: null }
  const conversations = Conversations.listConversations(ours, filters)
  yield* agree(scene, first(conversations), ConversationOperations.use(({ list }) => list(first_page)))
  for (const conversation of touched) {
    const id = ConversationId.make(names.idOf(conversation.id))
    const messages = listMessages(ours, conversation)
    yield* agree(scene, first(messages), Messages.use(({ list }) => list(id, null)))
  }
  for (const send of ours.sends.filter(({ conversation }) => touched.includes(conversation))) {
    yield* agree(scene, ok(showSend(send)), Sends.use(({ get }) => get(SendId.make(names.idOf(send.id)))))
  }
})

export const agreeOnCatalogs = Effect.fnUntraced(function*(scene: ModelScene) {
  const { channels, fields, members, tags, webhooks } = scene.ours
  const accounts = channels.flatMap((channel) => channel.phone_messaging_business_account_id ?? [])
  yield* agree(scene, ok(tags), Tags.use(({ list }) => list))
  yield* agree(scene, ok(channels), Channels.use(({ list }) => list))
  yield* agree(scene, ok(fields), ContactFields.use(({ list }) => list))
  yield* agree(scene, ok(members), Members.use(({ list }) => list))
  yield* agree(scene, ok(accounts.map(greeting)), Templates.use(({ list }) => list))
  for (const status of [null, "active", "disabled"] as const) {
    const shown = newestFirst(webhooks, ({ created_at }) => created_at).map(showWebhook)
      .filter((webhook) => status === null || webhook.status === status)
    yield* agree(scene, ok(shown), Webhooks.use(({ list }) => list({ status })))
  }
})

/** Returns an event's data with lists in an order of their own: the names of changed fields come in any. */
const sorted = (data: object): object =>
  Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Array.isArray(value) ? value.toSorted() : value]))

const Posted = Schema.fromJsonString(Schema.Struct({
  id: Schema.String,
  type: Schema.String,
  data: Schema.Record(Schema.String, Schema.Unknown)
}))

/** Compares our events of a type, or of every type. */
const agreeOnStoredEvents = Effect.fnUntraced(function*({ names, ours }: ModelScene, type: AnyEventType | null) {
  const filters = { type, since: null, page_size: 100 }
  const stored: Array<string> = []
  for (let cursor: string | null = null, isFirst = true; isFirst || cursor !== null; isFirst = false) {
    const page: Page<Event> = yield* as(ours)(Effect.orDie(Events.use(({ list }) => list({ ...filters, cursor }))))
    stored.push(...page.data.map(({ data, type }) => canonicalJson({ type, data: sorted(data) })))
    cursor = page.next_cursor
  }
  const expected = ours.events.filter((event) => type === null || event.type === type)
    .map(({ data, type }) => canonicalJson(names.resolve({ data, type }, undefined)))
  assertSame(stored.toSorted(), expected.toSorted())
})

/** Compares our events, the requests to our webhooks, in any order, and the states of their deliveries. */
export const agreeOnEvents = Effect.fnUntraced(function*(scene: ModelScene) {
  const { names, ours } = scene
  const endpoints = yield* ScriptedEndpoints
  yield* Effect.forEach([null, "conversation.closed" as const], (type) => agreeOnStoredEvents(scene, type))
  for (const { abandoned, former_urls, id, pending, posted, replayed, url } of ours.webhooks) {
    const requests = yield* Effect.forEach([...former_urls, url], endpoints.posted)
    const events = yield* Effect.forEach(
      requests.flat(),
      ({ body }) => Effect.orDie(Schema.decodeEffect(Posted)(body))
    )
    // What is replayed has the ID of the event.
    if (replayed.length === 0) assert.strictEqual(new Set(events.map((event) => event.id)).size, events.length)
    const received = events.map(({ data, type }) => {
      const { contact, conversation, message, ...rest } = data
      const has_resource = (contact ?? conversation ?? message) !== undefined
      return canonicalJson({ type, data: sorted(rest), has_resource })
    })
    const expected = [...posted, ...replayed].map((event) => canonicalJson(names.resolve(event, undefined)))
    assertSame(received.toSorted(), expected.toSorted())
    const webhook_id = WebhookId.make(names.idOf(id))
    const deliveries = yield* as(ours)(Effect.orDie(WebhookDeliveries.use(({ list }) => list(webhook_id))))
    const statuses = [
      ...posted.map(({ type }) => `${type} succeeded`),
      ...pending.map(({ type }) => `${type} pending`),
      ...abandoned.map(({ type }) => `${type} failed`)
    ]
    assertSame(
      deliveries.map(({ event_type, status }) => `${event_type} ${status}`).toSorted(),
      statuses.toSorted()
    )
  }
})
