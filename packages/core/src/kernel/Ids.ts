/**
 * Every kind of ID, in one file that imports no module with IDs, so that modules can
 * use each other's IDs without importing each other.
 */
import { Context, Effect, Layer, Schema, SchemaGetter } from "effect"
import { v5, v7 } from "uuid"
import { normalizing } from "./Codecs.ts"
import { type Randomness, system } from "./RandomBytes.ts"

const isUuid = Schema.isUUID(undefined, { toJsonSchema: () => ({ format: "uuid" }) })

/** Schema for a UUID. Both cases are accepted and decoded to lower case, so that equal IDs are equal texts. */
const uuid = <const Brand extends string>(brand: Brand) =>
  Schema.String.check(isUuid).pipe(
    Schema.decodeTo(Schema.String.check(isUuid).pipe(Schema.brand<Brand>(brand as never)), {
      decode: normalizing((id: string) => id.toLowerCase()),
      encode: SchemaGetter.passthrough()
    })
  )

export const ApiKeyId = uuid("ApiKeyId")
export type ApiKeyId = typeof ApiKeyId.Type

export const AuditRecordId = uuid("AuditRecordId")
export type AuditRecordId = typeof AuditRecordId.Type

export const ChannelId = uuid("ChannelId")
export type ChannelId = typeof ChannelId.Type

export const ContactFieldId = uuid("ContactFieldId")
export type ContactFieldId = typeof ContactFieldId.Type

export const ContactId = uuid("ContactId")
export type ContactId = typeof ContactId.Type

export const ConversationId = uuid("ConversationId")
export type ConversationId = typeof ConversationId.Type

export const EventId = uuid("EventId")
export type EventId = typeof EventId.Type

export const IdentityId = uuid("IdentityId")
export type IdentityId = typeof IdentityId.Type

export const MediaId = uuid("MediaId")
export type MediaId = typeof MediaId.Type

export const MemberId = uuid("MemberId")
export type MemberId = typeof MemberId.Type

export const MessageId = uuid("MessageId")
export type MessageId = typeof MessageId.Type

export const OrganizationId = uuid("OrganizationId")
export type OrganizationId = typeof OrganizationId.Type

export const SendId = uuid("SendId")
export type SendId = typeof SendId.Type

export const TagId = uuid("TagId")
export type TagId = typeof TagId.Type

export const WebhookDeliveryId = uuid("WebhookDeliveryId")
export type WebhookDeliveryId = typeof WebhookDeliveryId.Type

export const WebhookReplayId = uuid("WebhookReplayId")
export type WebhookReplayId = typeof WebhookReplayId.Type

export const WebhookId = uuid("WebhookId")
export type WebhookId = typeof WebhookId.Type

/** The nil UUID, which is lower than every ID of a row. */
export const nil = "00000000-0000-0000-0000-000000000000"

/** Returns the UUID (version 5) of a text within an organization: the same text always gives the same UUID. */
export const uuidOf = (organization_id: OrganizationId, text: string): string => v5(text, organization_id)

const random_bytes = 16

/**
 * Returns a function that draws bytes for one id.
 *
 * It requests the bytes of many IDs at once, because each request for random bytes takes longer than all other steps of
 * making an id.
 */
const drawer = (fill: Randomness) => {
  const pool = new Uint8Array(random_bytes * 256)
  let drawn = pool.length
  return (): Uint8Array => {
    if (drawn === pool.length) {
      fill(pool)
      drawn = 0
    }
    drawn += random_bytes
    return pool.subarray(drawn - random_bytes, drawn)
  }
}

/**
 * Returns a function that makes UUIDv7, each greater than all before it. Within a millisecond the IDs count up from a
 * random number.
 */
export const generator = (millis: () => number, fill: Randomness): () => string => {
  const draw = drawer(fill)
  let newest = { msecs: 0, seq: 0 }
  return () => {
    const random = draw()
    const now = millis()
    const seq = (newest.seq + 1) & 0x7fffffff
    newest = now > newest.msecs
      ? { msecs: now, seq: new DataView(random.buffer, random.byteOffset).getUint32(6) >>> 1 }
      : { msecs: seq === 0 ? newest.msecs + 1 : newest.msecs, seq }
    return v7({ random, ...newest })
  }
}

/** The function that makes the IDs. A reference, so that a simulation can repeat them. */
export const NextId = Context.Reference<() => string>("@messaging-crm/core/Ids/NextId", {
  // One generator makes all IDs of a process, so that they sort by creation.
  defaultValue: () => generator(Date.now, system)
})

/** Service that makes new IDs: UUIDv7, which sort by time. Tests replace it with predictable IDs. */
export class Ids extends Context.Service<Ids, {
  readonly uuid: Effect.Effect<string>
  /** The same as a plain function, for the pure decisions. */
  readonly next: () => string
}>()("@messaging-crm/core/Ids") {
  static readonly layer = Layer.effect(Ids, Effect.map(NextId, (next) => Ids.of({ uuid: Effect.sync(next), next })))
}
