/** The URLs of webhooks that publish to NATS, `nats://SUBJECT`, and the subjects of their events. */

/** A subject of up to 16 names, without wildcards. */
const url_pattern = /^nats:\/\/(?:[A-Za-z0-9_-]{1,64}\.){0,15}[A-Za-z0-9_-]{1,64}$/

/** The types of the API's events, such as `message.received`. */
const type_pattern = /^[a-z_]{1,32}(?:\.[a-z_]{1,32}){1,3}$/

/** Returns why a webhook cannot have this URL, as a sentence; null if it can. */
export const rejectionOf = (url: string): string | null =>
  url_pattern.test(url)
    ? null
    : "The URL must be nats:// and a subject of letters, digits, hyphens, and underscores, such as nats://crm.acme."

/** Returns the subject of an event: that of the webhook's URL, and the event's type. */
export const subjectOf = (url: string, body: string): string => {
  const subject = url.slice("nats://".length)
  const { type }: { readonly type: unknown } = JSON.parse(body)
  return typeof type === "string" && type_pattern.test(type) ? `${subject}.${type}` : `${subject}.other`
}
