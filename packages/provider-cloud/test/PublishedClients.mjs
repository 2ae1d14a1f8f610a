/**
 * Two published clients of the Graph API, behind one interface. This is JavaScript because the types of one of them
 * need those of a browser.
 */
import Sdk from "@great-detail/whatsapp"
import { WhatsAppClient } from "@kapso/whatsapp-cloud-api"

/** The code of the error body that a client passes on in one of its own errors. */
const codeOf = async (error) => error.code ?? (await error.response.json()).error.code

const rejection = (promise) => promise.then(() => null, codeOf)

export const kapso = ({ account, number, token, url }) => {
  const client = new WhatsAppClient({ accessToken: token, baseUrl: url, graphVersion: "v25.0" })
  const template = (name, ...texts) => ({
    phoneNumberId: number,
    to: "4915112345678",
    template: {
      name,
      language: { code: "en" },
      components: [{ type: "body", parameters: texts.map((text) => ({ type: "text", text })) }]
    }
  })
  return {
    sendText: async (to, body) => {
      const { contacts, messages } = await client.messages.sendText({ phoneNumberId: number, to, body })
      return { id: messages[0].id, input: contacts[0].input, wa_id: contacts[0].waId }
    },
    sendTemplate: async (name, ...texts) =>
      (await client.messages.sendTemplate(template(name, ...texts))).messages[0].id,
    rejectedTemplate: (name, ...texts) => rejection(client.messages.sendTemplate(template(name, ...texts))),
    rejectedText: (body) =>
      rejection(client.messages.sendRaw({
        phoneNumberId: number,
        payload: { messaging_product: "whatsapp", to: "4915112345678", type: "text", text: { body } }
      })),
    markRead: async (messageId) => (await client.messages.markRead({ phoneNumberId: number, messageId })).success,
    templates: async (filters) => {
      const { data } = await client.templates.list({ businessAccountId: account, ...filters })
      return data.map(({ name }) => name)
    },
    template: async (templateId) => (await client.templates.get({ businessAccountId: account, templateId })).name,
    upload: async (bytes, type) =>
      (await client.media.upload({ phoneNumberId: number, type: "image", file: new Blob([bytes], { type }) })).id,
    link: async (mediaId) => {
      const { fileSize, mimeType, sha256, url } = await client.media.get({ mediaId })
      return { file_size: Number(fileSize), mime_type: mimeType, sha256, url }
    },
    download: async (mediaId) => new Uint8Array(await client.media.download({ mediaId, auth: "always" })),
    remove: async (mediaId) => (await client.media.delete({ mediaId })).success,
    rejectedMedia: (mediaId) => rejection(client.media.get({ mediaId })),
    profile: async () => {
      const fields = "about,email"
      return (await client.phoneNumbers.businessProfile.get({ phoneNumberId: number, fields })).data[0]
    },
    setProfile: async (about) =>
      (await client.phoneNumbers.businessProfile.update({ phoneNumberId: number, about })).success
  }
}

export const greatDetail = ({ account, number, token, url }) => {
  const request = { headers: { Authorization: `Bearer ${token}` }, retry: 0 }
  const sdk = new Sdk({ prefixUrl: url, graphVersion: "v25.0", request })
  const phoneNumberID = number
  const template = (name, ...texts) => ({
    phoneNumberID,
    to: "4915112345678",
    type: "template",
    template: {
      name,
      language: { code: "en" },
      components: [{ type: "body", parameters: texts.map((text) => ({ type: "text", text })) }]
    }
  })
  const text = (to, body) => ({ phoneNumberID, to, type: "text", text: { body } })
  return {
    sendText: async (to, body) => {
      const { contacts, messages } = await sdk.message.createMessage(text(to, body)).json()
      return { id: messages[0].id, input: contacts[0].input, wa_id: contacts[0].wa_id }
    },
    sendTemplate: async (name, ...texts) =>
      (await sdk.message.createMessage(template(name, ...texts)).json()).messages[0].id,
    rejectedTemplate: (name, ...texts) => rejection(sdk.message.createMessage(template(name, ...texts)).json()),
    rejectedText: (body) => rejection(sdk.message.createMessage(text("4915112345678", body)).json()),
    markRead: async (message_id) =>
      (await sdk.message.createStatus({ phoneNumberID, message_id, status: "read" }).json()).success,
    templates: async (filters) => {
      const { data } = await sdk.template.list(account, filters).json()
      return data.map(({ name }) => name)
    },
    template: async (templateID) => (await sdk.template.get(templateID, {}).json()).name,
    upload: async (bytes, mimeType) =>
      (await sdk.media.upload({
        phoneNumberID,
        file: new Blob([bytes], { type: mimeType }),
        filename: "a.png",
        mimeType
      }).json()).id,
    link: async (mediaID) => {
      const { file_size, mime_type, sha256, url } = await sdk.media.getURL({ mediaID, phoneNumberID }).json()
      return { file_size: Number(file_size), mime_type, sha256, url }
    },
    download: async (mediaID) => {
      const { url: mediaURL } = await sdk.media.getURL({ mediaID }).json()
      return new Uint8Array(await sdk.media.download({ mediaURL, request }).arrayBuffer())
    },
    remove: async (mediaID) => (await sdk.media.delete({ mediaID }).json()).success,
    rejectedMedia: (mediaID) => rejection(sdk.media.getURL({ mediaID }).json()),
    profile: async () =>
      (await sdk.businessProfile.getBusinessProfile({ phoneNumberID, fields: { about: true, email: true } }).json())
        .data[0],
    setProfile: async (about) =>
      (await sdk.businessProfile.updateBusinessProfile({ phoneNumberID, messaging_product: "whatsapp", about }).json())
        .success
  }
}
