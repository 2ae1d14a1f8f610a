/** Tests of the client's types: they are the document's, and a wrong call does not compile. */
import type {
  Contact,
  EndedSend,
  ErrorCode,
  EventMessage,
  MessageUpdatedEvent,
  MessagingCrm,
  MessagingCrmError,
  Webhook,
  WebhookEvent,
  WebhookEventType
} from "@messaging-crm/client"
import type { Event } from "@messaging-crm/core/Events"
import { readFileSync } from "node:fs"
import { assert, expectTypeOf, it } from "vitest"
import { contract } from "../scripts/contract.ts"

it("is generated from the document as it is now (`npm run docs`)", () => {
  assert.strictEqual(readFileSync(new URL("../src/Contract.ts", import.meta.url), "utf8"), contract())
})

it("has the events as the service makes them", () => {
  expectTypeOf<WebhookEvent>().toExtend<typeof Event.Encoded>()
  expectTypeOf<typeof Event.Encoded>().toExtend<WebhookEvent>()
  expectTypeOf<Webhook["event_types"][number]>().toEqualTypeOf<WebhookEventType>()
})

/** Compiled, and never called: the type of an event tells what its `data` has. */
const narrowed = (event: WebhookEvent): string | null => {
  // Every event has it, whatever its type.
  expectTypeOf(event.data.conversation_id).toEqualTypeOf<string | null>()
  if (event.type === "message.updated") {
    expectTypeOf(event).toEqualTypeOf<MessageUpdatedEvent>()
    expectTypeOf(event.data.message).toEqualTypeOf<EventMessage | undefined>()
  }
  if (event.type === "contact.created" || event.type === "contact.updated") {
    expectTypeOf(event.data.contact).toEqualTypeOf<Contact | undefined>()
    return event.data.conversation_id
  }
  switch (event.type) {
    case "message.received":
    case "message.sent":
    case "message.updated":
      return event.data.message_id
    case "send.failed":
      return event.data.failure_reason
    case "conversation.assigned":
      return event.data.assigned_user_id
    case "conversation.closed":
    case "conversation.opened":
      return event.data.conversation?.status ?? event.data.conversation_id
    case "webhook.disabled":
      return event.data.reason
    case "webhook.test":
      return event.data.webhook_id
    default:
      // Every type has its case.
      return event satisfies never
  }
}

/** Compiled, and never called. */
const calls = async (crm: MessagingCrm) => {
  expectTypeOf(await crm.contacts.get("id")).toExtend<Contact>()
  for await (const contact of crm.contacts.list({ page_size: 10, channel: "photo_social" })) {
    expectTypeOf(contact).toEqualTypeOf<Contact>()
  }
  await crm.contacts.create({ first_name: "Kim", lifecycle_stage: "lead" })
  // @ts-expect-error an unknown field
  await crm.contacts.create({ firstName: "Kim" })
  // @ts-expect-error a value that the field does not have
  await crm.contacts.create({ lifecycle_stage: "friend" })
  // @ts-expect-error a field that only the service writes
  await crm.contacts.update("id", { updated_at: "2026-11-20T10:00:00.000Z" })
  // @ts-expect-error the field is required
  await crm.tags.create({ name: "VIP" })
  // @ts-expect-error an unknown filter
  crm.contacts.list({ tag: "id" })
  // @ts-expect-error messages have no page size
  crm.messages.list("id", { page_size: 10 })
  // @ts-expect-error a text has no template
  await crm.messages.send("id", { type: "text", text: "x", template: { id: "t", components: [] } })
  // @ts-expect-error an event that there is not
  await crm.webhooks.create({ url: "https://example.com", event_types: ["message.lost"] })
  // @ts-expect-error whose note it is
  await crm.contacts.addNote({ text: "called" })
}

const ending = (send: EndedSend) => {
  if (send.status === "sent") expectTypeOf(send.message_id).toEqualTypeOf<string>()
  else expectTypeOf(send.status).toEqualTypeOf<"failed">()
}

const reason = (error: MessagingCrmError) => {
  expectTypeOf(error.code).toEqualTypeOf<ErrorCode | "unexpected_response">()
  // @ts-expect-error a code that the API does not have
  return error.code === "teapot"
}

const receive = (event: WebhookEvent) => {
  if (event.type === "conversation.closed") expectTypeOf(event.data.conversation_id).toEqualTypeOf<string>()
  if (event.type === "message.updated") expectTypeOf(event.data.message_id).toEqualTypeOf<string>()
  // @ts-expect-error only events of messages have one
  if (event.type === "conversation.closed") return event.data.message_id
  return undefined
}

it("has discriminated unions for sends, errors and events", () => {
  for (const compiled of [calls, ending, narrowed, reason, receive]) assert.isFunction(compiled)
})
