/** Reads messages of the networks one by one, for tests of their contents. */
import { assert } from "@effect/vitest"
import type { MessageDetails } from "@messaging-crm/core/MessageDetails"
import { whatsAppEntry } from "../src/fake/CallbackBodies.ts"
import { envelope, eventOf, messenger, number, parseEntries } from "./Callback.ts"

/** Returns the type, text and details of one WhatsApp message. */
export const whatsAppContent = (message: object) => {
  const entry = whatsAppEntry(number, {
    messages: [{ from: "4915112345678", ...envelope, ...message }]
  })
  const event = eventOf(parseEntries(entry).events)
  if (event.event !== "message_received") throw new Error(`A ${event.event} is not a received message.`)
  return { type: event.type, text: event.text, details: event.details }
}

/** Returns the contents of the messages that a messaging event becomes. */
export const messengerContents = (event: object, object: "instagram" | "page" = "page") =>
  messenger(event, object).events.map(({ event, file }) => {
    if (event.event !== "message_received") throw new Error(`A ${event.event} is not a received message.`)
    return { type: event.type, text: event.text, details: event.details, file }
  })

/** Returns the content of the only message that a messaging event becomes. */
export const messengerContent = (event: object, object: "instagram" | "page" = "page") => {
  const [only, ...others] = messengerContents(event, object)
  assert.isEmpty(others)
  return only
}

export const attached = (...attachments: ReadonlyArray<object>) => ({ message: { mid: "m_1", attachments } })

export const choice = (fields: Partial<NonNullable<MessageDetails["choice"]>>): MessageDetails => ({
  choice: { kind: "button", id: null, title: null, description: null, payload: null, ...fields }
})
