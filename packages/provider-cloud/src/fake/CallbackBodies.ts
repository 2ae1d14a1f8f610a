/** The bodies of callbacks, in the format of each network. */

/** An entry with one change or one messaging event, and the `object` of the bodies that can contain it. */
export type CallbackEntry =
  | { readonly object: "whatsapp_business_account"; readonly id: string; readonly change: object }
  | { readonly object: "instagram" | "page"; readonly id: string; readonly event: object }

/** Returns an entry of WhatsApp with the value of a change. It contains the number's ID. */
export const whatsAppEntry = (phone_number_id: string, value: object): CallbackEntry => ({
  object: "whatsapp_business_account",
  id: "102290129340398",
  change: {
    field: "messages",
    value: {
      messaging_product: "whatsapp",
      metadata: { display_phone_number: "15550783881", phone_number_id },
      ...value
    }
  }
})

/** Returns an entry of WhatsApp with the status of a message. It does not contain the recipient's contact. */
export const statusEntry = (
  phone_number_id: string,
  { reference, ...status }: {
    readonly id: string
    readonly status: string
    readonly timestamp: number
    readonly recipient_id: string
    readonly reference: string | null
  }
): CallbackEntry =>
  whatsAppEntry(phone_number_id, {
    statuses: [{
      ...status,
      timestamp: String(status.timestamp),
      ...(reference === null ? {} : { biz_opaque_callback_data: reference }),
      ...(status.status === "failed"
        ? { errors: [{ code: 131026, title: "Undeliverable", error_data: { details: "Undeliverable." } }] }
        : { pricing: { billable: true, pricing_model: "PMP", category: "utility" } })
    }]
  })

/** A person on WhatsApp. A person with a username may have no number. */
interface Writer {
  readonly wa_id?: string
  readonly user_id?: string
  readonly name?: string
  readonly username?: string
}

/** Returns an entry of WhatsApp with a message to a number and its sender's contact. */
export const messageEntry = (
  phone_number_id: string,
  { name, user_id, username, wa_id }: Writer,
  message: object
): CallbackEntry =>
  whatsAppEntry(phone_number_id, {
    contacts: [{
      profile: { ...(name === undefined ? {} : { name }), ...(username === undefined ? {} : { username }) },
      ...(wa_id === undefined ? {} : { wa_id }),
      ...(user_id === undefined ? {} : { user_id })
    }],
    messages: [{
      ...(wa_id === undefined ? {} : { from: wa_id }),
      ...(user_id === undefined ? {} : { from_user_id: user_id }),
      ...message
    }]
  })

/** Returns an entry of Messenger or Instagram with a messaging event. */
export const messengerEntry = (
  object: "instagram" | "page",
  { account, event, person, timestamp }: {
    readonly account: string
    readonly person: string
    readonly timestamp: number
    readonly event: object
  }
): CallbackEntry => ({
  object,
  id: account,
  event: { sender: { id: person }, recipient: { id: account }, timestamp, ...event }
})

const encodedEntry = (entry: CallbackEntry) =>
  "change" in entry
    ? { id: entry.id, changes: [entry.change] }
    : { id: entry.id, time: 1_767_225_600_123, messaging: [entry.event] }

/** Returns a body with several entries of one network. */
export const bodyOf = (entries: ReadonlyArray<CallbackEntry>): string =>
  JSON.stringify({ object: entries[0]?.object ?? "whatsapp_business_account", entry: entries.map(encodedEntry) })
