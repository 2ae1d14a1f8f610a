// Formats of times, words, and names.

// All times are local, in the form of the browser's language: with 12 or with 24 hours.
const time = new Intl.DateTimeFormat(undefined, { timeStyle: "short" })
const seconds = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" })
const day = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" })

/** @param {Date} date */
const isToday = (date) => date.toDateString() === new Date().toDateString()

/**
 * Formats a time of the current day as a time, and any other time as a date.
 *
 * @param {string} at
 */
export const timeOrDate = (at) => {
  const date = new Date(at)
  return isToday(date) ? time.format(date) : day.format(date)
}

/** @param {string} at */
export const timeOfDay = (at) => time.format(new Date(at))

/**
 * Formats a time, with its date unless that is the current day.
 *
 * @param {string} at
 */
export const timeWithDay = (at) => {
  const date = new Date(at)
  return isToday(date) ? time.format(date) : `${day.format(date)}, ${time.format(date)}`
}

/**
 * Formats a time with seconds, and with its date unless that is the current day.
 *
 * @param {string} at
 */
export const timeWithSeconds = (at) => {
  const date = new Date(at)
  return isToday(date) ? seconds.format(date) : `${day.format(date)}, ${seconds.format(date)}`
}

/**
 * Formats a duration in hours and minutes, rounded up.
 *
 * @param {number} millis
 */
export const durationOf = (millis) => {
  const minutes = Math.ceil(millis / 60_000)
  const hours = Math.floor(minutes / 60)
  return hours === 0 ? `${minutes} min` : `${hours} h ${minutes % 60} min`
}

/**
 * Formats a number of bytes.
 *
 * @param {number} bytes
 */
export const sizeOf = (bytes) => {
  if (bytes < 1000) return `${bytes} bytes`
  return bytes < 1_000_000 ? `${Math.round(bytes / 1000)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`
}

/**
 * Replaces underscores, as in `provider_unavailable`, with spaces.
 *
 * @param {string} word
 */
export const withSpaces = (word) => word.replaceAll("_", " ")

/**
 * Returns the name of a contact, or else its username or network ID.
 *
 * @param {import("@messaging-crm/client").Conversation["contact"]} contact
 */
export const nameOf = ({ display_name, external_id, username }) => display_name ?? username ?? external_id ?? "Unknown"

/**
 * Returns the name of a contact as it is stored, or else how it can be reached.
 *
 * @param {import("@messaging-crm/client").Contact} contact
 */
export const nameOfContact = ({ company, first_name, last_name, primary_email, primary_phone }) =>
  [first_name, last_name].filter((name) => name !== null).join(" ") || primary_phone || primary_email || company
  || "Unknown"
