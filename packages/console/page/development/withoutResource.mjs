// Events as a webhook without `include_resource` receives them.

/**
 * Returns an event without the resource in its data.
 *
 * @template {{ readonly data: object }} Event
 * @param {Event} event
 */
export const withoutResource = (event) => {
  /** @type {Readonly<Record<string, unknown>>} */
  const { contact: _contact, conversation: _conversation, message: _message, ...data } = { ...event.data }
  return { ...event, data }
}
