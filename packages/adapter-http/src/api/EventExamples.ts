/** Examples of events, one of each type. They continue the story of `Examples.ts`. */
import type { AnyEventType, Event } from "@messaging-crm/core/Events"
import * as ConversationExamples from "./ConversationExamples.ts"
import * as Examples from "./Examples.ts"

type Encoded = typeof Event.Encoded

const { assigned_user_id, contact_id, conversation_id, event_id, message_id, send_id, webhook_id } = Examples.ids

/** The `data` of the example of each type. */
const data: { readonly [Type in AnyEventType]: Extract<Encoded, { readonly type: Type }>["data"] } = {
  "message.received": { conversation_id, message_id: ConversationExamples.inboundMessage.id },
  "message.sent": { conversation_id, message_id },
  "message.updated": { conversation_id, message_id, status: "delivered" },
  "send.failed": { conversation_id, send_id, failure_reason: "recipient_unreachable" },
  "conversation.closed": { conversation_id },
  "conversation.opened": { conversation_id },
  "conversation.assigned": { conversation_id, assigned_user_id },
  "contact.created": { conversation_id: null, contact_id },
  "contact.updated": { conversation_id, contact_id, changed_fields: ["company", "tags"] },
  "webhook.disabled": { conversation_id: null, webhook_id, reason: "gone" },
  "webhook.test": { conversation_id: null, webhook_id }
}

/** Returns the example of a type. */
export const eventOf = (type: AnyEventType) => ({
  id: event_id,
  timestamp: "2026-11-20T10:00:00.000Z",
  type,
  data: data[type]
})
