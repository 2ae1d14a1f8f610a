/**
 * Channels: the numbers, accounts and pages an organization is reached on (spec §2.5).
 */
import { Context, DateTime, Effect, Layer, type Option, Schema } from "effect"
import { CurrentActor } from "./Actor.ts"
import { ChannelId, Ids, type OrganizationId } from "./Ids.ts"
import { limits } from "./Limits.ts"
import { line, trimmedText } from "./Text.ts"
import { Timestamp } from "./Timestamps.ts"

// ---------------------------------------------------------------- data

export const ChannelType = Schema.Literals(["phone_messaging", "photo_social", "page_messaging"])
export type ChannelType = typeof ChannelType.Type

export const Channel = Schema.Struct({
  id: ChannelId,
  type: ChannelType,
  name: Schema.String,
  address: Schema.String.annotate({ description: "What contacts write to: a number, an account's or a page's name." }),
  phone_messaging_business_account_id: Schema.NullOr(Schema.String).annotate({
    description: "The account whose templates can be sent on the channel. Null on the two social channel types."
  }),
  connected_at: Timestamp
}).annotate({
  identifier: "Channel",
  description: "A number, an account or a page that the organization is reached on."
})
export interface Channel extends Schema.Schema.Type<typeof Channel> {}

export const ConnectChannel = Schema.Struct({
  type: ChannelType,
  name: trimmedText({ min: 1, max: limits.name_chars_max }),
  address: trimmedText({ min: 1, max: limits.address_chars_max }),
  phone_messaging_business_account_id: line(limits.name_chars_max)
})
export interface ConnectChannel extends Schema.Schema.Type<typeof ConnectChannel> {}

// -------------------------------------------------------------- errors

/** A channel of this type and address is connected already. */
export class ChannelAddressTaken extends Schema.TaggedError<ChannelAddressTaken>()("ChannelAddressTaken", {
  address: Schema.String
}) {}

/** Phone-messaging channels, and only they, belong to a business account. */
export class BusinessAccountMismatch
  extends Schema.TaggedError<BusinessAccountMismatch>()("BusinessAccountMismatch", { type: ChannelType })
{}

// ---------------------------------------------------------------- port

/**
 * Port: where channels are kept.
 *
 * **Contract** (checked by `conformance/Channels.ts`)
 *
 * - `insert` fails with `ChannelAddressTaken`, and writes nothing, when the
 *   organization has a channel of the same type and address.
 * - `list` returns the organization's channels, oldest first, then by id.
 * - `find` returns none for another organization's channel.
 * - `locate` returns the channel and whose it is: a provider's callback names the channel alone.
 */
export class ChannelStore extends Context.Service<ChannelStore, {
  readonly insert: (organization_id: OrganizationId, channel: Channel) => Effect.Effect<void, ChannelAddressTaken>
  readonly list: (organization_id: OrganizationId) => Effect.Effect<ReadonlyArray<Channel>>
  readonly find: (organization_id: OrganizationId, id: ChannelId) => Effect.Effect<Option.Option<Channel>>
  readonly locate: (
    id: ChannelId
  ) => Effect.Effect<Option.Option<{ readonly organization_id: OrganizationId; readonly channel: Channel }>>
}>()("@messaging-crm/core/Channels/ChannelStore") {}

// ---------------------------------------------------------- operations

/** Operations on the current actor's channels. */
export class Channels extends Context.Service<Channels, {
  readonly list: Effect.Effect<ReadonlyArray<Channel>, never, CurrentActor>
  readonly connect: (
    input: ConnectChannel
  ) => Effect.Effect<Channel, ChannelAddressTaken | BusinessAccountMismatch, CurrentActor>
}>()("@messaging-crm/core/Channels") {
  static readonly layer = Layer.effect(
    Channels,
    Effect.gen(function*() {
      const ids = yield* Ids
      const store = yield* ChannelStore

      const list = CurrentActor.use(({ organization_id }) => store.list(organization_id)).pipe(
        Effect.withSpan("Channels.list")
      )

      const connect = Effect.fn("Channels.connect")(function*(input: ConnectChannel) {
        const { organization_id } = yield* CurrentActor
        if ((input.type === "phone_messaging") !== (input.phone_messaging_business_account_id !== null)) {
          return yield* new BusinessAccountMismatch({ type: input.type })
        }
        const channel: Channel = { id: ChannelId.make(yield* ids.uuid), ...input, connected_at: yield* DateTime.now }
        yield* store.insert(organization_id, channel)
        return channel
      })

      return Channels.of({ list, connect })
    })
  )
}
