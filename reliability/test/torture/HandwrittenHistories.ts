/** Handwritten histories of tests: a few objects, their final state, and calls from `HandwrittenCalls.ts`. */
import { emptyContact } from "@messaging-crm/core/Contacts"
import type { Call, Fault, FinalState, History, ReceivedDelivery, Resource } from "../../torture/History.ts"

export const ids = {
  contact: "019aa0c2-5b00-7000-8000-000000000001",
  conversation: "019aa0c2-5b00-7000-8000-000000000002",
  tag: "019aa0c2-5b00-7000-8000-000000000003",
  webhook: "019aa0c2-5b00-7000-8000-000000000004"
}

export const contact = (fields: Resource = {}): Resource => ({
  ...emptyContact,
  id: ids.contact,
  first_name: "Kim",
  updated_at: "2026-11-20T10:00:00.000Z",
  ...fields
})

export const noon = "2026-11-20T12:00:00.000Z"
export const later = "2026-11-20T13:00:00.000Z"

export const open = (opened_at = noon): Resource => ({
  id: ids.conversation,
  channel: { id: "channel", type: "phone_messaging" },
  contact: { id: ids.contact, external_id: "+4915112345678" },
  status: "open",
  close_category: null,
  assigned_user_id: null,
  opened_at,
  closed_at: null,
  last_activity_at: noon
})

export const closed = (closed_at = noon): Resource => ({ ...open(), status: "closed", closed_at })

export const webhook = (fields: Resource = {}): Resource => ({
  id: ids.webhook,
  url: "https://shop.example/a",
  event_types: ["message.sent"],
  status: "active",
  ...fields
})

/** A sent text. */
export const send = (id: string): Resource => ({
  id,
  conversation_id: ids.conversation,
  status: "sent",
  message_id: `message-${id}`,
  failure_reason: null,
  created_at: `2026-11-20T12:00:00.00${id}Z`
})

const message = (id: string, fields: Resource = {}): Resource => ({
  id: `message-${id}`,
  conversation_id: ids.conversation,
  direction: "outbound",
  status: "sent",
  text: id,
  provider_message_id: `p.${id}`,
  edited_at: null,
  deleted_at: null,
  ...fields
})

/** Sends that the network accepted in this order, and their final state. */
export const sent = (
  order: ReadonlyArray<string>,
  fields: Resource = {}
): Pick<History, "accepted"> & { readonly final: Partial<FinalState> } => ({
  accepted: order.map((id) => ({
    reference: id,
    provider_message_id: `p.${id}`,
    recipient: "+4915112345678",
    text: id
  })),
  final: {
    conversations: [open()],
    sends: order.map(send),
    messages: { [ids.conversation]: order.map((id) => message(id, fields)) }
  }
})

/** An event at noon. */
export const event = (type: string): Resource => ({ id: `event-${type}`, type, timestamp: noon, data: {} })
/** A request with an event that an endpoint received at a time. */
export const posted = (type: string, at: number): ReceivedDelivery => ({
  organization: 0,
  endpoint: "/a",
  event_id: `event-${type}`,
  text: JSON.stringify(event(type)),
  at,
  status: 204,
  is_signed: true
})

const emptyState: FinalState = {
  contacts: [],
  tags: [],
  conversations: [],
  messages: {},
  sends: [],
  uncertain_sends: [],
  events: [],
  webhooks: [],
  deliveries: {},
  audit: []
}

/** A call that gets its position from the history. */
export type UnnumberedCall = (index: number) => Call

export const history = (
  calls: ReadonlyArray<UnnumberedCall>,
  final: Partial<FinalState>,
  faults: ReadonlyArray<Fault> = [],
  accepted: History["accepted"] = []
): History => ({
  seed: 0,
  organizations: [{ id: "acme", final: { ...emptyState, ...final } }],
  calls: calls.map((call, index) => call(index)),
  accepted,
  inbound: [],
  received: [],
  faults,
  unfinished: []
})
