/** Splits the callbacks of Messenger and Instagram by person, for which it reads only the IDs in a messaging event. */
import type { ChannelType } from "@messaging-crm/core/Channels"
import { idOf, isFlagSet, objectOf } from "../../GraphSchemas.ts"
import { type Entry, type EntryPart, personIdsIn } from "../Entry.ts"

export type MessengerType = Extract<ChannelType, "photo_social" | "page_messaging">

/**
 * Returns whether the business sent an event, and the ID of the event's account: the sender if the business sent it, otherwise
 * the recipient, or else the entry's ID.
 */
export const ownerOf = (entry_id: string | null, event: ReturnType<typeof objectOf>) => {
  const recipient_id = idOf(objectOf(event["recipient"])["id"])
  const sender_id = idOf(objectOf(event["sender"])["id"])
  const isFromAccount = sender_id !== null && sender_id === entry_id && recipient_id !== entry_id
  const is_own = isFromAccount || isFlagSet(objectOf(event["message"])["is_echo"])
  return { is_own, id: (is_own ? sender_id : recipient_id) ?? entry_id }
}

/** Returns an entry as one part for each of its items. */
export const split = (type: MessengerType, entry: Entry): ReadonlyArray<EntryPart> => {
  const entry_id = entry.id ?? null
  return (["messaging", "standby", "changes"] as const).flatMap((list) =>
    (entry[list] ?? []).map((item) => {
      const event = objectOf(list === "changes" ? objectOf(item)["value"] : item)
      const { id } = ownerOf(entry_id, event)
      const account = id === null ? null : { type, id }
      return { account, people: personIdsIn(event), entries: [{ id: entry_id, [list]: [item] }] }
    })
  )
}
