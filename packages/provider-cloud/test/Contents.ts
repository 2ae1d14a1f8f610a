/** Reads messages of the networks one by one, for tests of their contents. */
import { assert } from "@effect/vitest"
import type { MessageDetails } from "@messaging-crm/core/MessageDetails"
import { type Notice, read } from "@messaging-crm/provider-cloud/Callback"
import { DateTime, Option } from "effect"
import { bodyOf, phonePart, socialPart } from "../src/fake/CallbackBodies.ts"

export const number = "106540352242922"
export const person = "4915112345678"

export const parse = (...parts: Parameters<typeof bodyOf>[0]) =>
  Option.getOrThrow(read(bodyOf(parts), { app_id: "7", received_at: DateTime.makeUnsafe("2026-11-20T12:00:00.000Z") }))

export const eventOf = ([notice]: ReadonlyArray<Notice>) => notice?.event ?? assert.fail("There is no notice.")

/** Returns the type, text and details of one phone message. */
export const phone = (message: object) => {
  const part = phonePart(number, { messages: [{ from: person, id: "wamid.1", timestamp: "1767225600", ...message }] })
  const event = eventOf(parse(part).notices)
  if (event.event !== "message_received") throw new Error(`A ${event.event} is not a received message.`)
  return { type: event.type, text: event.text, details: event.details }
}

export const items = (item: object, object: "instagram" | "page" = "page") =>
  parse(socialPart(object, { account: "1784", person: "24601", timestamp: 1767225600123, item })).notices.map(
    ({ event, file }) => {
      if (event.event !== "message_received") throw new Error(`A ${event.event} is not a received message.`)
      return { type: event.type, text: event.text, details: event.details, file }
    }
  )

export const social = (item: object, object: "instagram" | "page" = "page") => {
  const [only, ...others] = items(item, object)
  assert.isEmpty(others)
  return only
}

export const attached = (...attachments: ReadonlyArray<object>) => ({ message: { mid: "m_1", attachments } })

export const choice = (fields: Partial<NonNullable<MessageDetails["choice"]>>): MessageDetails => ({
  choice: { kind: "button", id: null, title: null, description: null, payload: null, ...fields }
})
