/**
 * Channels: the phone numbers, accounts and pages that contacts write to (contract §9.1).
 */
import { Context, Effect, Layer, Result, Schema } from "effect"
import { CurrentActor } from "../kernel/Actor.ts"
import { ChannelId } from "../kernel/Ids.ts"
import { limits } from "../kernel/Limits.ts"
import { operation } from "../kernel/Operations.ts"
import { line, trimmedText } from "../kernel/Text.ts"
import { Timestamp } from "../kernel/Timestamps.ts"
import type * as Changes from "../work/Changes.ts"
import { type ConcurrentChanges, Decide, type DecisionContext } from "../work/Decide.ts"
import { declareRows, pickFields, Rows } from "../work/Rows.ts"
import { ChannelType, networkOf } from "./ChannelTypes.ts"

// ---------------------------------------------------------------- data

export * from "./ChannelTypes.ts"

export const Channel = Schema.Struct({
  id: ChannelId,
  type: ChannelType,
  name: Schema.String,
  address: Schema.String.annotate({
    description: "The phone number, or the name of the account or page."
  }),
  phone_messaging_business_account_id: Schema.NullOr(Schema.String).annotate({
    description:
      "The account whose templates can be sent on the channel. Null for `photo_social` and `page_messaging` channels."
  }),
  connected_at: Timestamp
}).annotate({
  identifier: "Channel",
  description: "A phone number, account, or page of the organization."
})
export interface Channel extends Schema.Schema.Type<typeof Channel> {}

export const ConnectChannel = Schema.Struct({
  type: ChannelType,
  name: trimmedText({ min: 1, max: limits.name_chars_max }),
  address: trimmedText({ min: 1, max: limits.address_chars_max }),
  phone_messaging_business_account_id: line(limits.name_chars_max)
}).pipe(Schema.brand("ConnectChannel"))
export interface ConnectChannel extends Schema.Schema.Type<typeof ConnectChannel> {}

export const ChannelRows = declareRows(Channel)({
  name: "channels",
  key: { id: "uuid" },
  unique: { columns: ["type", "address"], within: "organization" },
  list: { order: ["connected_at", "id"] }
})

const toChannel = pickFields(Channel)

// -------------------------------------------------------------- errors

/** A channel of this type and address is connected already. */
export class ChannelAddressTaken extends Schema.TaggedError<ChannelAddressTaken>()("ChannelAddressTaken", {
  address: Schema.String
}) {}

/** A phone-messaging channel without a business account, or another channel with one. */
export class BusinessAccountMismatch
  extends Schema.TaggedError<BusinessAccountMismatch>()("BusinessAccountMismatch", { type: ChannelType })
{}

// ----------------------------------------------------------- decisions

/** Connects a channel under an id. */
export const connect = (
  others: ReadonlyArray<Channel>,
  id: ChannelId,
  input: ConnectChannel,
  { now }: Pick<DecisionContext, "now">
): Result.Result<Changes.Decision<Channel>, ChannelAddressTaken | BusinessAccountMismatch> => {
  const { address, type } = input
  if (networkOf(type).has_templates !== (input.phone_messaging_business_account_id !== null)) {
    return Result.fail(new BusinessAccountMismatch({ type }))
  }
  if (others.some((other) => other.type === type && other.address === address)) {
    return Result.fail(new ChannelAddressTaken({ address }))
  }
  const channel: Channel = { id, ...input, connected_at: now }
  return Result.succeed({ result: channel, changes: ChannelRows.insert(channel) })
}

// ---------------------------------------------------------- operations

/** Operations on the current actor's channels. */
export class Channels extends Context.Service<Channels, {
  readonly list: Effect.Effect<ReadonlyArray<Channel>, never, CurrentActor>
  readonly connect: (
    input: ConnectChannel
  ) => Effect.Effect<Channel, ChannelAddressTaken | BusinessAccountMismatch | ConcurrentChanges, CurrentActor>
}>()("@messaging-crm/core/Channels") {
  static readonly layer = Layer.effect(
    Channels,
    Effect.gen(function*() {
      const { write } = yield* Decide
      const rows = yield* Rows

      const list = operation("channels.list")(function*() {
        const { organization_id } = yield* CurrentActor
        return (yield* rows.list(ChannelRows, organization_id)).map(toChannel)
      })()

      const connectChannel = write("channels.connect", function*(input: ConnectChannel) {
        const { organization_id } = yield* CurrentActor
        return {
          load: rows.list(ChannelRows, organization_id),
          decide: (others, context) => connect(others, ChannelId.make(context.uuid()), input, context)
        }
      })

      return Channels.of({ list, connect: connectChannel })
    })
  )
}
