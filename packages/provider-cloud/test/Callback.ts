/** Reads the bodies of callbacks, for tests of the events in them. */
import { assert } from "@effect/vitest"
import { SendId } from "@messaging-crm/core/Ids"
import * as Callback from "@messaging-crm/provider-cloud/Callback"
import { DateTime, Option } from "effect"
import { bodyOf, messageEntry, messengerEntry } from "../src/fake/CallbackBodies.ts"

export const received_at = DateTime.makeUnsafe("2026-11-20T12:00:00.000Z")
export const arrival = { received_at }
export const seconds = 1_767_225_600
export const sent_at = DateTime.makeUnsafe(seconds * 1000)
export const reference = SendId.make("01990000-0000-7000-8000-00000000abcd")

export const number = "106540352242922"
export const ana = { wa_id: "4915112345678", user_id: "DE.13491208655302741918", name: "Ana Lima", username: "ana.l" }
export const envelope = { id: "wamid.1", timestamp: String(seconds) }

export const parseEntries = (...entries: Parameters<typeof bodyOf>[0]) =>
  Option.getOrThrow(Callback.parse(bodyOf(entries), arrival))

export const eventOf = ([first]: ReadonlyArray<Callback.ParsedEvent>) =>
  first?.event ?? assert.fail("There is no event.")

/** Returns the content of a message of Ana, without its sender and time. */
export const said = (message: object) => {
  const { events } = parseEntries(messageEntry(number, ana, { ...envelope, ...message }))
  const event = eventOf(events)
  if (event.event !== "message_received") return assert.fail(event.event)
  return { type: event.type, text: event.text, kind: event.media?.kind ?? null, file: events[0]?.file ?? null }
}

export const messenger = (event: object, object: "instagram" | "page" = "instagram") =>
  parseEntries(messengerEntry(object, { account: "1784", person: "24601", timestamp: seconds * 1000 + 123, event }))
