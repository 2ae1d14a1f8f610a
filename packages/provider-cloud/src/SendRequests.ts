/** The requests that send a message, and the responses of the networks. */
import type { Accepted, Content, OutboundMessage } from "@messaging-crm/core/MessagingProvider"
import type { TemplateParameter, TemplateValues } from "@messaging-crm/core/Templates"
import { Schema } from "effect"
import type { CloudAccount } from "./CloudAccounts.ts"
import { lenient, NetworkId } from "./GraphSchemas.ts"
import { coreId, isPhoneNumber } from "./PersonIds.ts"

/**
 * Returns the address of a recipient: a number in `to`, any other ID in `recipient`.
 *
 * The network accepts a user ID in `to`, and then silently drops the message.
 */
const recipientFields = (recipient: string) => isPhoneNumber(recipient) ? { to: recipient.slice(1) } : { recipient }

/** Returns a parameter in the form that its part of the template requires. */
const parameterOf = (values: TemplateValues, parameter: TemplateParameter) => {
  // Core's other parameters are written as the network reads them.
  if (parameter.type !== "text") return parameter
  const { parameter_name, text } = parameter
  const sub_type = values.type === "button" ? values.sub_type.toLowerCase() : ""
  switch (sub_type) {
    case "quick_reply":
      return { type: "payload", payload: text }
    case "copy_code":
      return { type: "coupon_code", coupon_code: text }
    default:
      return { type: "text", text, ...(parameter_name === undefined ? {} : { parameter_name }) }
  }
}

/** Returns whether the values are those of a button that opens a flow, which the network requires without parameters. */
const isFlow = (values: TemplateValues): boolean => values.type === "button" && values.sub_type.toLowerCase() === "flow"

const componentOf = (values: TemplateValues) => ({
  type: values.type,
  ...(values.type === "button" ? { sub_type: values.sub_type.toLowerCase(), index: String(values.index) } : {}),
  ...(isFlow(values) ? {} : { parameters: values.parameters.map((parameter) => parameterOf(values, parameter)) })
})

const contentOf = (content: Content) => {
  if (content.type === "text") return { type: "text", text: { body: content.text, preview_url: false } }
  const { components, language, name } = content.template
  return {
    type: "template",
    template: {
      name,
      language: { policy: "deterministic", code: language },
      components: components.filter((values) => values.parameters.length > 0 || isFlow(values)).map(componentOf)
    }
  }
}

/** Returns the body of a WhatsApp message. Its callbacks echo the reference. */
export const whatsAppMessage = ({ content, recipient, reference }: OutboundMessage) => ({
  messaging_product: "whatsapp",
  recipient_type: "individual",
  ...recipientFields(recipient),
  ...contentOf(content),
  biz_opaque_callback_data: reference
})

/** Returns the body of a Messenger message. Its echo contains the reference. */
export const messengerMessage = ({ content, recipient, reference }: OutboundMessage) => ({
  recipient: { id: recipient },
  messaging_type: "RESPONSE",
  message: { text: content.text, metadata: reference }
})

/** Returns the body of an Instagram message. The network supports no reference. */
export const instagramMessage = ({ content, recipient }: OutboundMessage) => ({
  recipient: { id: recipient },
  message: { text: content.text }
})

/** Returns the path, below the account's base URL, and the body of a message. */
export const requestOf = (account: CloudAccount, message: OutboundMessage) => {
  switch (account.type) {
    case "phone_messaging":
      return { path: `/${account.phone_number_id}/messages`, body: whatsAppMessage(message) }
    case "page_messaging":
      return { path: `/${account.page_id}/messages`, body: messengerMessage(message) }
    case "photo_social":
      return { path: `/${account.page_id ?? account.account_id}/messages`, body: instagramMessage(message) }
  }
}

const WhatsAppResponse = Schema.Struct({
  messages: Schema.NonEmptyArray(Schema.Struct({ id: NetworkId })),
  contacts: lenient(Schema.Array(Schema.Struct({ wa_id: lenient(NetworkId), user_id: lenient(NetworkId) })))
})

/** The response of Messenger and Instagram. */
const MessengerResponse = Schema.Struct({ message_id: NetworkId, recipient_id: lenient(NetworkId) })

/** Schema for the response to an accepted message. */
export const AcceptedResponse = Schema.Union([WhatsAppResponse, MessengerResponse])

/** Returns the network's ID of the message, and its other IDs of the recipient. */
export const acceptedOf = (response: typeof AcceptedResponse.Type, recipient: string): Accepted => {
  const [provider_message_id, ids] = "messages" in response
    ? [response.messages[0].id, (response.contacts ?? []).slice(0, 1).flatMap(({ user_id, wa_id }) => [wa_id, user_id])]
    : [response.message_id, [response.recipient_id]]
  const others = ids.flatMap((id) => id === undefined || coreId(id) === recipient ? [] : coreId(id))
  return { provider_message_id, recipient_aliases: Array.from(new Set(others)) }
}
