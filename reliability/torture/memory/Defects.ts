/**
 * Defective layers of the service, each with a defect that breaks one rule of the contract: the checker must report it in
 * the history of a run.
 */
import { stores } from "@messaging-crm/adapter-memory"
import type { World } from "@messaging-crm/adapter-memory/World"
import * as LostUpdate from "@messaging-crm/conformance/LostUpdate"
import type { Changes, Update } from "@messaging-crm/core/Changes"
import { Commit } from "@messaging-crm/core/Commit"
import { type Contact, Contacts, ContactStore } from "@messaging-crm/core/Contacts"
import { ConversationStore } from "@messaging-crm/core/Conversations"
import type * as Crm from "@messaging-crm/core/Crm"
import { EventStore } from "@messaging-crm/core/Events"
import { IdempotencyStore } from "@messaging-crm/core/Idempotency"
import { MessagingProvider } from "@messaging-crm/core/MessagingProvider"
import { WebhookStore } from "@messaging-crm/core/Webhooks"
import { WebhookTransport } from "@messaging-crm/core/WebhookTransport"
import * as Mock from "@messaging-crm/provider-mock"
import { DateTime, Effect, Layer, Option } from "effect"

type Storage = Layer.Layer<Crm.StoragePorts, never, World>

/** The parts of the service that a defect replaces. */
export interface Defect {
  readonly storage?: Storage
  readonly provider?: typeof Mock.layer
  readonly transport?: Layer.Layer<WebhookTransport, never, WebhookTransport>
  /** The options of a run in which the checker can report it. */
  readonly options?: { readonly webhooks: number; readonly calls: number }
  /** The operations of HTTP requests. The worker keeps its own. */
  readonly operations?: Layer.Layer<never, never, Crm.Services>
}

/** Makes a function that returns whether a defect occurs: in one of `every` calls. */
const everyNth = (every: number) => {
  let count = 0
  return () => ++count % every === 0
}

/** A storage that changes each commit. */
const committing = (altered: () => (changes: Changes) => Changes): Storage =>
  Layer.effect(
    Commit,
    Effect.map(Commit, ({ commit }) => {
      const alter = altered()
      return Commit.of({ commit: (organization_id, changes) => commit(organization_id, alter(changes)) })
    })
  ).pipe(Layer.provideMerge(stores))

/** A provider's adapter that calls the network twice. */
const duplicatedSend = Layer.effect(
  MessagingProvider,
  Effect.map(MessagingProvider, (provider) => {
    const occurs = everyNth(5)
    return MessagingProvider.of({
      ...provider,
      deliver: (message) =>
        occurs() ? Effect.andThen(provider.deliver(message), provider.deliver(message)) : provider.deliver(message)
    })
  })
).pipe(Layer.provideMerge(Mock.layer))

/** A cache that is not invalidated. */
const staleRead = Layer.effect(
  Contacts,
  Effect.map(Contacts, (contacts) => {
    const cache = new Map<string, Contact>()
    const occurs = everyNth(3)
    return Contacts.of({
      ...contacts,
      get: (id) => {
        const known = cache.get(id)
        return known !== undefined && occurs()
          ? Effect.succeed(known)
          : Effect.tap(contacts.get(id), (contact) => Effect.sync(() => cache.set(id, contact)))
      }
    })
  })
)

const droppedEvent = committing(() => {
  const occurs = everyNth(7)
  return ({ raise = [], ...changes }) => ({ ...changes, raise: raise.length > 0 && occurs() ? [] : raise })
})

/** A transport that reports a request as sent before it sends it, and loses some. */
const lostDelivery = Layer.effect(
  WebhookTransport,
  Effect.map(WebhookTransport, ({ post }) => {
    const occurs = everyNth(9)
    return WebhookTransport.of({
      post: (request) => occurs() ? Effect.succeed({ status: 200, body: "", retry_after: null }) : post(request)
    })
  })
)

/** An event that matches the webhooks of another type. */
const missingDelivery = committing(() => {
  const occurs = everyNth(5)
  return ({ raise = [], ...changes }) => ({
    ...changes,
    raise: raise.map((event) => occurs() ? { ...event, type: "conversation.opened" } : event)
  })
})

/** A page of events that omits one. */
const incompleteReplay: Storage = Layer.effect(
  EventStore,
  Effect.map(
    EventStore,
    (store) =>
      EventStore.of({
        ...store,
        next: (...parameters) => Effect.map(store.next(...parameters), (events) => events.slice(1))
      })
  )
).pipe(Layer.provideMerge(stores))

/** Inserts without the unique values of some tables. */
const withoutUnique = (...names: ReadonlyArray<string>) => ({ insert = [], ...changes }: Changes): Changes => ({
  ...changes,
  insert: insert.map((one) => names.includes(one.table.name) ? { ...one, table: { ...one.table, unique: null } } : one)
})

/** A lookup that sometimes misses the conversation, over an index that is not unique. */
const duplicateConversation: Storage = Layer.effect(
  ConversationStore,
  Effect.map(ConversationStore, (store) => {
    const occurs = everyNth(4)
    return ConversationStore.of({
      ...store,
      identify: (...parameters) =>
        Effect.map(
          store.identify(...parameters),
          (identities) => occurs() ? identities.map((identity) => ({ ...identity, conversation: null })) : identities
        )
    })
  })
).pipe(Layer.provideMerge(committing(() => withoutUnique("conversations"))))

/** A lookup that sometimes misses the contact, over an index that is not unique. */
const secondContact: Storage = Layer.mergeAll(
  Layer.effect(
    ContactStore,
    Effect.map(ContactStore, (store) => ContactStore.of({ ...store, match: () => Effect.succeed(Option.none()) }))
  ),
  Layer.effect(
    ConversationStore,
    Effect.map(ConversationStore, (store) => {
      const occurs = everyNth(4)
      return ConversationStore.of({
        ...store,
        identify: (...parameters) => occurs() ? Effect.succeed([]) : store.identify(...parameters)
      })
    })
  )
).pipe(Layer.provideMerge(committing(() => (changes) => {
  const { insert = [], ...rest } = withoutUnique("identities", "conversations")(changes)
  return {
    ...rest,
    insert: insert.filter(({ table: { name } }) => name !== "identity_names" || rest.touch !== undefined)
  }
})))

const updating =
  (name: string, alter: (set: Update["set"]) => Update["set"]) => ({ update = [], ...changes }: Changes) => ({
    ...changes,
    update: update.map((one) => one.table.name === name ? { ...one, set: alter(one.set) } : one)
  })

/** A late report that changes the status of a read message. */
const statusBack = committing(() => {
  const occurs = everyNth(2)
  return updating(
    "messages",
    (set) => "status" in set && occurs() ? { ...set, status: "sent", delivered_at: null, read_at: null } : set
  )
})

/** An edit that restores a deleted message. */
const deletedReturns = committing(() =>
  updating("messages", (set) => "edited_at" in set ? { ...set, text: "back", deleted_at: null } : set)
)

/** A replay that is encoded anew. */
const differentReplay: Storage = Layer.effect(
  IdempotencyStore,
  Effect.map(IdempotencyStore, (store) =>
    IdempotencyStore.of({
      ...store,
      find: (...parameters) =>
        Effect.map(
          store.find(...parameters),
          Option.map((record) =>
            record.body === null
              ? record
              : { ...record, body: `${record.body} ` }
          )
        )
    }))
).pipe(Layer.provideMerge(stores))

const missingRecord = committing(() => {
  const occurs = everyNth(9)
  return ({ audit, ...changes }) => audit === undefined || occurs() ? changes : { ...changes, audit }
})

const exceededLimit: Storage = Layer.effect(
  WebhookStore,
  Effect.map(WebhookStore, (store) => WebhookStore.of({ ...store, countActive: () => Effect.succeed(0) }))
).pipe(Layer.provideMerge(stores))

/** A queue in which the sends of one conversation overtake each other. */
const outOfOrder = committing(() => {
  const occurs = everyNth(2)
  return ({ enqueue = [], ...changes }) => ({
    ...changes,
    enqueue: enqueue.map((work) =>
      work.kind === "send"
        ? { ...work, lane: work.ref, due_at: DateTime.add(work.due_at, { milliseconds: occurs() ? 0 : 500 }) }
        : work
    )
  })
})

/** The defects by name, each with a pattern of the violated rule. */
export const defects: Readonly<Record<string, Defect & { readonly violates: RegExp }>> = {
  "a lost update": {
    storage: LostUpdate.layer.pipe(Layer.provideMerge(stores)),
    violates: /^Calls on a (contact|conversation)/
  },
  "a duplicated send": { provider: duplicatedSend, violates: /^No send reaches the network twice/ },
  "a stale read": { operations: staleRead, violates: /^Calls on a contact/ },
  "a dropped event": { storage: droppedEvent, violates: /^Each change raises one event/ },
  "a lost webhook delivery": { transport: lostDelivery, violates: /^A webhook gets each event/ },
  "an event without its deliveries": { storage: missingDelivery, violates: /^A webhook gets each event/ },
  "a replay that omits an event": { storage: incompleteReplay, violates: /^A replay posts each stored event/ },
  "a duplicate conversation": { storage: duplicateConversation, violates: /^There is one conversation/ },
  "a second contact for one phone": { storage: secondContact, violates: /^An identity has one contact/ },
  "a status that goes back": { storage: statusBack, violates: /^The status in a message event does not go back/ },
  "a deleted message that comes back": {
    storage: deletedReturns,
    violates: /^The status in a message event does not go back/
  },
  "a replay that differs": { storage: differentReplay, violates: /^Every retry of a request gets the same bytes/ },
  "a missing audit record": { storage: missingRecord, violates: /^Each write leaves one audit record/ },
  "a limit that is exceeded": {
    storage: exceededLimit,
    options: { webhooks: 105, calls: 1 },
    violates: /^No limit is exceeded/
  },
  "sends out of order": { storage: outOfOrder, violates: /^Sends of one conversation reach the network in the order/ }
}
