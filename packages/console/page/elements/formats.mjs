// Formats of times, words, and names.

const time = new Intl.DateTimeFormat(undefined, { timeStyle: "short" })
const seconds = new Intl.DateTimeFormat(undefined, { timeStyle: "medium", hourCycle: "h23" })
const day = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" })

/**
 * Formats a time of the current day as a time, and any other time as a date.
 *
 * @param {string} at
 */
export const timeOrDate = (at) => {
  const date = new Date(at)
  return date.toDateString() === new Date().toDateString() ? time.format(date) : day.format(date)
}

/** @param {string} at */
export const timeOfDay = (at) => time.format(new Date(at))
/** @param {string} at */
export const timeWithSeconds = (at) => seconds.format(new Date(at))

/**
 * Replaces underscores, as in `provider_unavailable`, with spaces.
 *
 * @param {string} word
 */
export const withSpaces = (word) => word.replaceAll("_", " ")

export const channelName = { phone_messaging: "WhatsApp", photo_social: "Instagram", page_messaging: "Messenger" }

/**
 * Returns the name of a contact, or else its username or network ID.
 *
 * @param {import("@messaging-crm/client").Conversation["contact"]} contact
 */
export const nameOf = ({ display_name, external_id, username }) => display_name ?? username ?? external_id ?? "Unknown"
