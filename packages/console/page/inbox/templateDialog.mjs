// The dialog for a template with its values.
import { html } from "lit-html"
import { showingErrors } from "../actions.mjs"
import { channelField, openDialog } from "../elements/dialog.mjs"
import { callOperation } from "../server.mjs"
import { state } from "../store.mjs"
import { isOpen } from "./openConversation.mjs"
import { choiceOf, partsOf } from "./templates.mjs"

/**
 * @import { Conversation, Template, TemplateChoice } from "@messaging-crm/client"
 * @import { ValueOf } from "../elements/dialog.mjs"
 * @typedef {(template: TemplateChoice, text: string, valueOf: ValueOf) => Promise<unknown>} OnSend
 * @typedef {{ readonly conversation?: Conversation, readonly onSend: OnSend }} TemplateDialog
 */

/**
 * @param {ReadonlyArray<Template>} templates
 * @param {Template} template
 * @param {(id: string) => void} choose
 */
const templateFields = (templates, template, choose) =>
  html`
  <label>Template<select name="template" @change=${(/** @type {Event & { target: HTMLSelectElement }} */ event) =>
    choose(event.target.value)}>${
    templates.map(({ id, language, name }) =>
      html`<option value=${id} .selected=${id === template.id}>${name} (${language})</option>`
    )
  }</select></label>
  <blockquote>${
    template.components.filter(({ text }) => text !== null).map(({ text }) => html`<p>${text}</p>`)
  }</blockquote>
  ${
    partsOf(template).map(({ label, names }, part) =>
      names.map((name) =>
        html`<label>${label} {{${name}}}<input name="${part}.${name}" required maxlength="1024" autocomplete="off"></label>`
      )
    )
  }`

/**
 * Returns the text of a template with its values.
 *
 * @param {Template} template
 * @param {ValueOf} valueOf
 */
const filledText = (template, valueOf) => {
  const body = template.components.find(({ type }) => type === "BODY")
  const part = partsOf(template).findIndex(({ type }) => type === "body")
  return (body?.text ?? template.name).replace(/\{\{\s*(\w+)\s*\}\}/g, (_, name) => valueOf(`${part}.${name}`))
}

/**
 * Reads the templates that can be sent on the channels of an account.
 *
 * @param {string | null | undefined} account
 */
const readApprovedTemplates = async (account) => {
  /** @type {{ readonly data: ReadonlyArray<Template> }} */
  const { data } = await callOperation("templates")
  return data.filter(({ phone_messaging_business_account_id, status }) =>
    status === "APPROVED" && phone_messaging_business_account_id === account
  )
}

/** Opens a dialog for a template and its values. Without a conversation, it also asks for a phone number, to start one. */
export const openTemplateDialog = showingErrors(async (/** @type {TemplateDialog} */ { conversation, onSend }) => {
  const phones = state.setup.channels.filter(({ type }) => type === "phone_messaging")
  const channel = phones.find(({ id }) => id === conversation?.channel.id) ?? phones[0]
  const templates = await readApprovedTemplates(channel?.phone_messaging_business_account_id)
  if (conversation !== undefined && !isOpen(conversation.id)) return
  const [first] = templates
  if (first === undefined) throw new Error("The channel has no approved templates.")
  let template = first
  /** @param {() => void} draw */
  const fields = (draw) =>
    html`
    ${
      conversation === undefined ?
        html`${channelField(phones)}
      <label>Phone number<input name="phone" type="tel" required placeholder="+49 151 12345678" autocomplete="off"></label>` :
        ""
    }
    ${
      templateFields(templates, template, (id) => {
        template = templates.find((other) => other.id === id) ?? template
        draw()
      })
    }`
  openDialog(
    conversation === undefined ? "New conversation" : "Send a template",
    "Send",
    fields,
    (valueOf) =>
      onSend(
        /** @type {TemplateChoice} */ (choiceOf(template, (part, name) => valueOf(`${part}.${name}`))),
        filledText(template, valueOf),
        valueOf
      )
  )
})
