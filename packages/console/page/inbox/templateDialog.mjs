// The dialog for a template with its values.
import { html } from "lit-html"
import { showingErrors } from "../actions.mjs"
import { channelField, openDialog } from "../elements/dialog.mjs"
import { withSpaces } from "../elements/formats.mjs"
import { hasTemplates } from "../elements/networks.mjs"
import { callOperation } from "../server.mjs"
import { state } from "../store.mjs"
import { isOpen } from "./openConversation.mjs"
import { choiceOf, filledText, isAskedFor, partsOf, previewOf, unsupportedPartOf } from "./templates.mjs"

/**
 * @import { Channel, Conversation, Template, TemplateChoice } from "@messaging-crm/client"
 * @import { ValueOf } from "../elements/dialog.mjs"
 * @import { Part } from "./templates.mjs"
 * @typedef {(template: TemplateChoice, text: string, valueOf: ValueOf) => Promise<unknown>} OnSend
 * @typedef {{ readonly conversation?: Conversation, readonly phone?: string, readonly onSend: OnSend }} TemplateDialog
 */

/**
 * Draws the fields for the values of a part.
 *
 * @param {Part} part
 * @param {number} index
 */
const partFields = ({ file, label, names, url }, index) => {
  if (file === undefined) {
    return names.map((name) =>
      html`<label>${label} ${
        url ?? `{{${name}}}`
      }<input name="${index}.${name}" required maxlength="1024" autocomplete="off"></label>`
    )
  }
  return html`<label>Link to the ${file} of the header<input name="${index}.link" type="url" required maxlength="2048"
    pattern="https://.+" title="A link that starts with https://" placeholder="https://" autocomplete="off"></label>
    <p class="hint faint">The network loads the ${file} from this link when the template is sent.</p>
    ${
    file === "document"
      ? html`<label>File name (optional)<input name="${index}.filename" maxlength="200" autocomplete="off"></label>`
      : ""
  }`
}

/** @param {Template} template */
const optionText = (template) => {
  const part = unsupportedPartOf(template)
  const reason = part === undefined ? "" : ` – not supported: ${withSpaces(part.toLowerCase())}`
  return `${template.name} (${template.language})${reason}`
}

/**
 * Removes the values that were entered for another template: the fields can stay in the document.
 *
 * @param {HTMLFormElement | null} form
 */
const clearValues = (form) => {
  /** @type {Iterable<HTMLInputElement>} */
  const fields = form?.querySelectorAll("input[name*='.']") ?? []
  for (const field of fields) field.value = ""
}

/**
 * @param {ReadonlyArray<Template>} templates
 * @param {Template} template
 * @param {(id: string) => void} choose
 * @param {ValueOf} valueOf
 */
const templateFields = (templates, template, choose, valueOf) =>
  html`
  <label>Template<select name="template" @change=${(
    /** @type {Event & { target: HTMLSelectElement }} */ { target }
  ) => {
    clearValues(target.form)
    choose(target.value)
  }}>${
    templates.map((other) =>
      html`<option value=${other.id} .selected=${other.id === template.id}
        ?disabled=${unsupportedPartOf(other) !== undefined}>${optionText(other)}</option>`
    )
  }</select></label>
  <blockquote>${
    previewOf(template, (part, name) => valueOf(`${part}.${name}`)).map((text) => html`<p>${text}</p>`)
  }</blockquote>
  ${partsOf(template).map((part, index) => isAskedFor(template, part) ? partFields(part, index) : "")}`

/** @returns {Promise<ReadonlyArray<Template>>} */
const readApprovedTemplates = async () => {
  /** @type {{ readonly data: ReadonlyArray<Template> }} */
  const { data } = await callOperation("templates")
  return data.filter(({ status }) => status === "APPROVED")
}

/**
 * Returns the templates of a channel, and the first that can be sent.
 *
 * @param {ReadonlyArray<Template>} templates
 * @param {Channel | undefined} channel
 */
const templatesOf = (templates, channel) => {
  const account = channel?.phone_messaging_business_account_id
  const ofChannel = templates.filter((template) => template.phone_messaging_business_account_id === account)
  const first = ofChannel.find((template) => unsupportedPartOf(template) === undefined)
  if (first === undefined) throw new Error("The channel has no approved templates that the console can send.")
  return { ofChannel, first }
}

/** Opens a dialog for a template and its values. Without a conversation, it also asks for a phone number, to start one. */
export const openTemplateDialog = showingErrors(async (/** @type {TemplateDialog} */ dialog) => {
  const { conversation, onSend, phone = "" } = dialog
  const phones = state.setup.channels.filter(hasTemplates)
  const templates = await readApprovedTemplates()
  if (conversation !== undefined && !isOpen(conversation.id)) return
  let { first: template, ofChannel } = templatesOf(
    templates,
    phones.find(({ id }) => id === conversation?.channel.id) ?? phones[0]
  )
  /** @param {() => void} draw */
  const newConversationFields = (draw) => {
    const chooseChannel = (/** @type {string} */ id) => {
      ;({ first: template, ofChannel } = templatesOf(templates, phones.find((channel) => channel.id === id)))
      draw()
    }
    return html`${channelField(phones, showingErrors(chooseChannel))}
      <label>Phone number<input name="phone" type="tel" required value=${phone} placeholder="+49 151 12345678" autocomplete="off"></label>`
  }
  const fields = (/** @type {() => void} */ draw, /** @type {ValueOf} */ valueOf) =>
    html`
    ${conversation === undefined ? newConversationFields(draw) : ""}
    ${
      templateFields(ofChannel, template, (id) => {
        template = ofChannel.find((other) => other.id === id) ?? template
        draw()
      }, valueOf)
    }`
  openDialog(
    conversation === undefined ? "New conversation" : "Send a template",
    { submit: "Send" },
    fields,
    (valueOf) => {
      const partValueOf = (/** @type {number} */ part, /** @type {string} */ name) => valueOf(`${part}.${name}`)
      // Its parameters have the types that the API expects.
      const choice = /** @type {TemplateChoice} */ (choiceOf(template, partValueOf))
      return onSend(choice, filledText(template, partValueOf), valueOf)
    }
  )
})
