/**
 * The one cell of the adapter: every row there is, as one immutable value.
 *
 * A unit of work changes a draft and puts it in the cell when it succeeds, so a
 * reader never sees half of it and undoing is forgetting. One unit of work has
 * the turn at a time, which is stronger than PostgreSQL's isolation: nothing
 * passes here only because the store is weak.
 */
import type { ApiKey } from "@messaging-crm/core/ApiKeys"
import type { Channel } from "@messaging-crm/core/Channels"
import type { ContactField } from "@messaging-crm/core/ContactFields"
import type { Contact } from "@messaging-crm/core/Contacts"
import type { EventRow } from "@messaging-crm/core/Events"
import type { IdempotencyRecord } from "@messaging-crm/core/Idempotency"
import type {
  ApiKeyId,
  ChannelId,
  ContactId,
  ConversationId,
  IdentityId,
  OrganizationId,
  TagId,
  WebhookDeliveryId
} from "@messaging-crm/core/Ids"
import type { MediaFile } from "@messaging-crm/core/Media"
import type { MemberRow } from "@messaging-crm/core/Members"
import type { Message, MessageReport } from "@messaging-crm/core/Messages"
import type { Organization } from "@messaging-crm/core/Organizations"
import type { SendRow } from "@messaging-crm/core/Sends"
import type { Tag } from "@messaging-crm/core/Tags"
import type { Timestamp } from "@messaging-crm/core/Timestamps"
import type { WebhookDelivery } from "@messaging-crm/core/WebhookDeliveries"
import type { WebhookRow } from "@messaging-crm/core/Webhooks"
import { Context, Effect, Exit, HashMap, HashSet, Layer, MutableRef, Semaphore } from "effect"
import type { Thread } from "./Conversations.ts"
import * as Table from "./Table.ts"
import type { Lane, LaneLimits } from "./WorkQueue.ts"

export interface Rows {
  readonly organizations: HashMap.HashMap<OrganizationId, Organization>
  readonly members: Table.Table<MemberRow & { readonly email_key: string }>
  /** The address of each present member, to the member. */
  readonly member_emails: Table.Table<string>
  readonly api_keys: Table.Table<ApiKey>
  readonly api_key_digests: HashMap.HashMap<string, { readonly organization_id: OrganizationId; readonly id: ApiKeyId }>
  readonly api_key_windows: HashMap.HashMap<ApiKeyId, { readonly opened_at: Timestamp; readonly count: number }>
  readonly channels: Table.Table<Channel>
  readonly channel_owners: HashMap.HashMap<ChannelId, OrganizationId>
  readonly contact_fields: Table.Table<ContactField>
  readonly tags: Table.Table<{ readonly tag: Tag; readonly name_key: string }>
  readonly tag_names: Table.Table<TagId>
  readonly contacts: Table.Table<Contact>
  /** A phone number, to the contacts whose primary one it is. */
  readonly contact_phones: Table.Table<ReadonlyArray<ContactId>>
  /** Channel type and external id or alias, to who that is. */
  readonly identities: Table.Table<{ readonly identity_id: IdentityId; readonly contact_id: ContactId }>
  readonly conversations: Table.Table<Thread>
  /** Channel and identity, to their conversation. */
  readonly threads: Table.Table<ConversationId>
  /** Owned by the organization and conversation together. */
  readonly messages: Table.Table<Message>
  /** Channel and provider message id, to the message as it was inserted. */
  readonly provider_messages: Table.Table<Pick<Message, "conversation_id" | "id">>
  readonly media: Table.Table<MediaFile>
  readonly parked_reports: Table.Table<ReadonlyArray<{ readonly report: MessageReport; readonly parked_at: Timestamp }>>
  readonly sends: Table.Table<SendRow>
  readonly idempotency: Table.Table<IdempotencyRecord & { readonly created_at: Timestamp }>
  readonly webhooks: Table.Table<WebhookRow>
  readonly events: Table.Table<EventRow>
  readonly deliveries: Table.Table<WebhookDelivery>
  /** Owned by the organization and webhook together. */
  readonly webhook_deliveries: Table.Table<WebhookDeliveryId>
  readonly lanes: HashMap.HashMap<string, Lane>
  /** What lanes give out at most, where that is not what their kind may. */
  /** When each lane was last served. */
  readonly lane_turns: HashMap.HashMap<string, Timestamp>
  readonly lane_limits: HashMap.HashMap<string, LaneLimits>
  /** Kind and ref of every item in the lanes. */
  readonly work_refs: HashSet.HashSet<string>
}

const nothing: Rows = {
  organizations: HashMap.empty(),
  members: Table.empty(),
  member_emails: Table.empty(),
  api_keys: Table.empty(),
  api_key_digests: HashMap.empty(),
  api_key_windows: HashMap.empty(),
  channels: Table.empty(),
  channel_owners: HashMap.empty(),
  contact_fields: Table.empty(),
  tags: Table.empty(),
  tag_names: Table.empty(),
  contacts: Table.empty(),
  contact_phones: Table.empty(),
  identities: Table.empty(),
  conversations: Table.empty(),
  threads: Table.empty(),
  messages: Table.empty(),
  provider_messages: Table.empty(),
  media: Table.empty(),
  parked_reports: Table.empty(),
  sends: Table.empty(),
  idempotency: Table.empty(),
  webhooks: Table.empty(),
  events: Table.empty(),
  deliveries: Table.empty(),
  webhook_deliveries: Table.empty(),
  lanes: HashMap.empty(),
  lane_turns: HashMap.empty(),
  lane_limits: HashMap.empty(),
  work_refs: HashSet.empty()
}

/** The draft of the unit of work that the current fiber is in, if any. */
const Draft = Context.Reference<MutableRef.MutableRef<Rows> | null>("@messaging-crm/adapter-memory/World/Draft", {
  defaultValue: () => null
})

/** Runs a part of a unit of work: when it fails, the draft is what it was before. */
const join = <A, E, R>(draft: MutableRef.MutableRef<Rows>, effect: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    const before = MutableRef.get(draft)
    return Effect.onExit(effect, (exit) =>
      Effect.sync(() => {
        if (Exit.isFailure(exit)) MutableRef.set(draft, before)
      }))
  })

export class World extends Context.Service<World, {
  /** Reads what is committed or, inside a unit of work, its draft. Takes no turn. */
  readonly read: <A>(look: (rows: Rows) => A) => Effect.Effect<A>
  /** Changes the rows in one step, on its own or inside the current unit of work. */
  readonly modify: <A>(change: (rows: Rows) => readonly [A, Rows]) => Effect.Effect<A>
  readonly transact: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
}>()("@messaging-crm/adapter-memory/World") {
  static readonly layer = Layer.effect(
    World,
    Effect.gen(function*() {
      const committed = MutableRef.make(nothing)
      const turn = yield* Semaphore.make(1)

      const begin = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
        Semaphore.withPermit(
          turn,
          Effect.suspend(() => {
            const draft = MutableRef.make(MutableRef.get(committed))
            return Effect.onExit(Effect.provideService(effect, Draft, draft), (exit) =>
              Effect.sync(() => {
                if (Exit.isSuccess(exit)) MutableRef.set(committed, MutableRef.get(draft))
              }))
          })
        )

      const transact = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
        Effect.flatMap(Draft, (draft) => draft === null ? begin(effect) : join(draft, effect))

      const read = <A>(look: (rows: Rows) => A) =>
        Effect.map(Draft, (draft) => look(MutableRef.get(draft ?? committed)))

      const modify = <A>(change: (rows: Rows) => readonly [A, Rows]): Effect.Effect<A> =>
        Effect.flatMap(Draft, (draft) => {
          if (draft === null) return begin(modify(change))
          const [answer, rows] = change(MutableRef.get(draft))
          MutableRef.set(draft, rows)
          return Effect.succeed(answer)
        })

      return World.of({ read, modify, transact })
    })
  )
}
