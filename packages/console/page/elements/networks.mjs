// The networks of the types of channels: their names, and whether they have message templates.

/** @import { Channel } from "@messaging-crm/client" */

/** @type {Readonly<Record<Channel["type"], { readonly name: string, readonly has_templates: boolean }>>} */
const networks = {
  phone_messaging: { name: "WhatsApp", has_templates: true },
  photo_social: { name: "Instagram", has_templates: false },
  page_messaging: { name: "Messenger", has_templates: false }
}

/**
 * Returns the name of a channel's network.
 *
 * @param {Pick<Channel, "type">} channel
 */
export const networkName = ({ type }) => networks[type].name

/**
 * Returns whether the network of a channel has message templates, which can also start a conversation with a phone number.
 *
 * @param {Pick<Channel, "type">} channel
 */
export const hasTemplates = ({ type }) => networks[type].has_templates
