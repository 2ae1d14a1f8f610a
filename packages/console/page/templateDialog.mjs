// The dialog for a template with its values.
import { html } from "lit-html"
import { channelField, openDialog } from "./dialogs.mjs"
import { callOperation, showingErrors, state } from "./store.mjs"
import { choiceOf, partsOf } from "./templates.mjs"

const templateFields = (templates, template, choose) =>
  html`
  <label>Template<select name="template" @change=${(event) => choose(event.target.value)}>${
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

/** Returns the text of a template with its values. */
const filledText = (template, valueOf) => {
  const body = template.components.find(({ type }) => type === "BODY")
  const part = partsOf(template).findIndex(({ type }) => type === "body")
  return (body?.text ?? template.name).replace(/\{\{\s*(\w+)\s*\}\}/g, (_, name) => valueOf(`${part}.${name}`))
}

/** Asks for a template and its values. Without a channel it also asks for a phone number, to start a conversation. */
export const openTemplateDialog = showingErrors(async ({ channel_id, onSend }) => {
  const phones = state.setup.channels.filter(({ type }) => type === "phone_messaging")
  const channel = phones.find(({ id }) => id === channel_id) ?? phones[0]
  const account = channel?.phone_messaging_business_account_id
  const templates = (await callOperation("templates")).data
    .filter(({ phone_messaging_business_account_id, status }) =>
      status === "APPROVED" && phone_messaging_business_account_id === account
    )
  if (templates.length === 0) throw new Error("The channel has no approved templates.")
  let [template] = templates
  const fields = (show) =>
    html`
    ${
      channel_id === undefined ?
        html`${channelField(phones)}
      <label>Phone number<input name="phone" type="tel" required placeholder="+49 151 12345678" autocomplete="off"></label>` :
        ""
    }
    ${
      templateFields(templates, template, (id) => {
        template = templates.find((other) => other.id === id)
        show()
      })
    }`
  openDialog(
    channel_id === undefined ? "New conversation" : "Send a template",
    "Send",
    fields,
    (valueOf) =>
      onSend(choiceOf(template, (part, name) => valueOf(`${part}.${name}`)), filledText(template, valueOf), valueOf)
  )
})

export const openConversationDialog = () =>
  openTemplateDialog({
    onSend: (template, _, valueOf) =>
      callOperation("start", { channel_id: valueOf("channel_id"), phone: valueOf("phone"), template })
  })
