/** Reads messages of the networks one by one, for tests of their contents. */
import { assert } from "@effect/vitest"
import type { MessageDetails } from "@messaging-crm/core/MessageDetails"
import * as Callback from "@messaging-crm/provider-cloud/Callback"
import { DateTime, Option } from "effect"
import { bodyOf, messengerEntry, whatsAppEntry } from "../src/fake/CallbackBodies.ts"

export const number = "106540352242922"
export const person = "4915112345678"

export const parseEntries = (...entries: Parameters<typeof bodyOf>[0]) =>
  Option.getOrThrow(
    Callback.parse(bodyOf(entries), { app_id: "7", received_at: DateTime.makeUnsafe("2026-11-20T12:00:00.000Z") })
  )

export const eventOf = ([first]: ReadonlyArray<Callback.ParsedEvent>) =>
  first?.event ?? assert.fail("There is no event.")

/** Returns the type, text and details of one WhatsApp message. */
export const whatsApp = (message: object) => {
  const entry = whatsAppEntry(number, {
    messages: [{ from: person, id: "wamid.1", timestamp: "1767225600", ...message }]
  })
  const event = eventOf(parseEntries(entry).events)
  if (event.event !== "message_received") throw new Error(`A ${event.event} is not a received message.`)
  return { type: event.type, text: event.text, details: event.details }
}

export const messengerAll = (event: object, object: "instagram" | "page" = "page") =>
  parseEntries(messengerEntry(object, { account: "1784", person: "24601", timestamp: 1767225600123, event })).events
    .map(
      ({ event, file }) => {
        if (event.event !== "message_received") throw new Error(`A ${event.event} is not a received message.`)
        return { type: event.type, text: event.text, details: event.details, file }
      }
    )

export const messenger = (event: object, object: "instagram" | "page" = "page") => {
  const [only, ...others] = messengerAll(event, object)
  assert.isEmpty(others)
  return only
}

export const attached = (...attachments: ReadonlyArray<object>) => ({ message: { mid: "m_1", attachments } })

export const choice = (fields: Partial<NonNullable<MessageDetails["choice"]>>): MessageDetails => ({
  choice: { kind: "button", id: null, title: null, description: null, payload: null, ...fields }
})
