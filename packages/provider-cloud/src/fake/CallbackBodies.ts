/** Bodies of callbacks in the format of each network. */

/** One notice, before it is put into a body with others. */
export type Part =
  | { readonly object: "whatsapp_business_account"; readonly id: string; readonly change: object }
  | { readonly object: "instagram" | "page"; readonly id: string; readonly item: object }

/** Returns a part with messages or statuses of a number. It contains the number's ID. */
export const phonePart = (phone_number_id: string, value: object): Part => ({
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

/** Returns a part with a status of a message. It does not contain the recipient's contact. */
export const statusPart = (
  phone_number_id: string,
  { reference, ...status }: {
    readonly id: string
    readonly status: string
    readonly timestamp: number
    readonly recipient_id: string
    readonly reference: string | null
  }
): Part =>
  phonePart(phone_number_id, {
    statuses: [{
      ...status,
      timestamp: String(status.timestamp),
      ...(reference === null ? {} : { biz_opaque_callback_data: reference }),
      ...(status.status === "failed"
        ? { errors: [{ code: 131026, title: "Undeliverable", error_data: { details: "Undeliverable." } }] }
        : { pricing: { billable: true, pricing_model: "PMP", category: "utility" } })
    }]
  })

/** A person on phone messaging. A person with a username may have no number. */
interface Writer {
  readonly wa_id?: string
  readonly user_id?: string
  readonly name?: string
  readonly username?: string
}

/** Returns a part with a message to a number and its sender's contact. */
export const messagePart = (
  phone_number_id: string,
  { name, user_id, username, wa_id }: Writer,
  message: object
): Part =>
  phonePart(phone_number_id, {
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

/** Returns a part with an item of a page or a photo account. */
export const socialPart = (
  object: "instagram" | "page",
  { account, item, person, timestamp }: {
    readonly account: string
    readonly person: string
    readonly timestamp: number
    readonly item: object
  }
): Part => ({
  object,
  id: account,
  item: { sender: { id: person }, recipient: { id: account }, timestamp, ...item }
})

const entryOf = (part: Part) =>
  "change" in part
    ? { id: part.id, changes: [part.change] }
    : { id: part.id, time: 1_767_225_600_123, messaging: [part.item] }

/** Returns a body with several parts of one network, each an entry of its own. */
export const bodyOf = (parts: ReadonlyArray<Part>): string =>
  JSON.stringify({ object: parts[0]?.object ?? "whatsapp_business_account", entry: parts.map(entryOf) })
