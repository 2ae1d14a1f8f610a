/** Parses the statuses of WhatsApp, which report what became of a message. */
import { SendId } from "@messaging-crm/core/Ids"
import type { MessageStatusReported } from "@messaging-crm/core/Inbound"
import { type DateTime, Option, Schema } from "effect"
import type { AccountKey } from "../../CloudAccounts.ts"
import { pauseReasonOf } from "../../ErrorCodes.ts"
import { Items, lenient, NetworkId, NetworkTime, StorableText, timeOf, Whole } from "../../GraphSchemas.ts"
import { networkIdsOf } from "../../PersonIds.ts"
import { meaningIn, whatsapp_statuses } from "../DocumentedKinds.ts"
import { ignored, ignoredAs, type Parsed, singleEvent } from "../Entry.ts"
import { StatusRecipient } from "../PersonFields.ts"

const Status = Schema.Struct({
  id: NetworkId,
  status: Schema.String,
  type: lenient(Schema.String),
  timestamp: lenient(NetworkTime),
  ...StatusRecipient,
  recipient_type: lenient(Schema.String),
  biz_opaque_callback_data: lenient(SendId),
  errors: lenient(Items)
})

const StatusError = Schema.Struct({
  code: lenient(Whole),
  title: lenient(StorableText),
  message: lenient(StorableText),
  error_data: lenient(Schema.Struct({ details: lenient(StorableText) }))
})

const decodeStatus = Schema.decodeUnknownOption(Status)
const decodeStatusError = Schema.decodeUnknownOption(StatusError)

/** Core's status for each status of the network. For a voice message, `played` corresponds to `read`. */
const statuses: Readonly<Record<string, MessageStatusReported["status"]>> = {
  sent: "sent",
  delivered: "delivered",
  read: "read",
  played: "read",
  failed: "failed"
}

/** Returns why a message failed, and whether its channel is paused for it. */
const failureOf = (errors: typeof Items.Type): Pick<MessageStatusReported, "failure" | "pauses_channel"> => {
  const [first] = errors.flatMap((error) => Option.toArray(decodeStatusError(error)))
  if (first === undefined) return {}
  const { code, error_data, message, title } = first
  const failure = { code: code ?? null, title: title ?? message ?? null, description: error_data?.details ?? null }
  return Option.match(Option.flatMap(Option.fromUndefinedOr(code), pauseReasonOf), {
    onNone: () => ({ failure }),
    onSome: (pauses_channel) => ({ failure, pauses_channel })
  })
}

/** Parses a status. It has no contact: only its own IDs of the recipient are known. */
export const parseStatus = (account: AccountKey, item: unknown, received_at: DateTime.Utc): Parsed => {
  const decoded = decodeStatus(item)
  if (Option.isNone(decoded)) return ignored("unreadable", "status")
  const {
    biz_opaque_callback_data,
    errors = [],
    id,
    recipient_id,
    recipient_parent_user_id,
    recipient_type,
    recipient_user_id,
    timestamp,
    type
  } = decoded.value
  const meaning = meaningIn(whatsapp_statuses, type ?? "message")
  if (meaning !== "status") return ignoredAs(meaning, `status:${type}`)
  if (recipient_type === "group") return ignored("group", `status:${decoded.value.status}`)
  const status = Object.hasOwn(statuses, decoded.value.status) ? statuses[decoded.value.status] : undefined
  if (status === undefined) return ignored("unknown", `status:${decoded.value.status}`)
  return singleEvent(account, {
    event: "message_status_reported",
    provider_message_id: id,
    reference: biz_opaque_callback_data ?? null,
    recipient_aliases: networkIdsOf([recipient_id, recipient_user_id, recipient_parent_user_id]),
    status,
    at: timeOf(timestamp, received_at),
    ...(status === "failed" ? failureOf(errors) : {})
  })
}
