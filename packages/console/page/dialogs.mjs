// The dialogs: a template with its values, a message in a customer's name, and a new webhook.
import { html, render } from "lit-html"
import { channelName } from "./formats.mjs"
import { attempt, call, messageOf, state } from "./store.mjs"
import { choiceOf, partsOf } from "./templates.mjs"

/** Opens a dialog, which is removed once it is closed. `run` gets the form's values. */
const dialog = (title, submit, fields, run) => {
  const element = document.createElement("dialog")
  document.body.append(element)
  let error = ""
  const onSubmit = async (event) => {
    event.preventDefault()
    const values = new FormData(event.target)
    try {
      await run((name) => String(values.get(name) ?? ""))
      element.close()
    } catch (failure) {
      error = messageOf(failure)
      show()
    }
  }
  const show = () =>
    render(
      html`<form @submit=${onSubmit}><h2>${title}</h2>${fields(show)}
        ${error === "" ? "" : html`<p class="error" role="alert">${error}</p>`}
        <div class="actions"><button type="button" @click=${() => element.close()}>Cancel</button>
          <button class="primary">${submit}</button></div></form>`,
      element
    )
  element.addEventListener("close", () => element.remove())
  show()
  element.showModal()
}

const channelField = (channels) =>
  html`<label>Channel<select name="channel_id">${
    channels.map((channel) => html`<option value=${channel.id}>${channel.name} (${channelName[channel.type]})</option>`)
  }</select></label>`

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

/** Returns the text that a template has with its values. */
const filled = (template, valueOf) => {
  const body = template.components.find(({ type }) => type === "BODY")
  const part = partsOf(template).findIndex(({ type }) => type === "body")
  return (body?.text ?? template.name).replace(/\{\{\s*(\w+)\s*\}\}/g, (_, name) => valueOf(`${part}.${name}`))
}

/** Asks for a template and its values. Without a channel it also asks for a phone number, to start a conversation. */
export const templateDialog = attempt(async ({ channel_id, onSend }) => {
  const phones = state.setup.channels.filter(({ type }) => type === "phone_messaging")
  const channel = phones.find(({ id }) => id === channel_id) ?? phones[0]
  const account = channel?.phone_messaging_business_account_id
  const templates = (await call("templates")).data
    .filter((one) => one.status === "APPROVED" && one.phone_messaging_business_account_id === account)
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
        template = templates.find((one) => one.id === id)
        show()
      })
    }`
  dialog(
    channel_id === undefined ? "New conversation" : "Send a template",
    "Send",
    fields,
    (valueOf) =>
      onSend(choiceOf(template, (part, name) => valueOf(`${part}.${name}`)), filled(template, valueOf), valueOf)
  )
})

export const startDialog = () =>
  templateDialog({
    onSend: (template, _, valueOf) =>
      call("start", { channel_id: valueOf("channel_id"), phone: valueOf("phone"), template })
  })

/** Writes as a customer who may be new. */
export const customerDialog = () => {
  const fields = () =>
    html`${channelField(state.setup.channels)}
    <label>Customer’s number or ID<input name="from" required value="+4915112345678" autocomplete="off"></label>
    <label>Name<input name="name" value="Kim Example" autocomplete="off"></label>
    <label>Message<textarea name="text" rows="3" required></textarea></label>`
  dialog("Message from a customer", "Send as the customer", fields, (valueOf) =>
    call("write", {
      channel_id: valueOf("channel_id"),
      from: valueOf("from"),
      name: valueOf("name") || null,
      text: valueOf("text")
    }))
}

/**
 * Whether the dialog preselects an event type. A webhook can have at most five types.
 *
 * @type {Readonly<Record<import("@messaging-crm/client").WebhookEventType, boolean>>}
 */
const eventTypes = {
  "message.received": true,
  "message.sent": true,
  "message.updated": true,
  "send.failed": true,
  "conversation.closed": true,
  "conversation.opened": false,
  "conversation.assigned": false,
  "contact.created": false,
  "contact.updated": false,
  "webhook.disabled": false
}

/** Asks for a new webhook, and shows the signing secret that `create` returns. */
export const webhookDialog = (create) => {
  const fields = () =>
    html`<label>URL<input name="url" type="url" required placeholder="https://example.com/hooks" autocomplete="off"></label>
    <fieldset><legend>Events</legend>${
      Object.entries(eventTypes).map(([type, isSelected]) =>
        html`<label><input type="checkbox" name=${type} ?checked=${isSelected}>${type}</label>`
      )
    }</fieldset>
    <label><input type="checkbox" name="include_resource">Include the resource in events</label>`
  dialog("New webhook", "Create", fields, async (valueOf) => {
    const event_types = Object.keys(eventTypes).filter((type) => valueOf(type) !== "")
    const secret = await create({
      url: valueOf("url"),
      event_types,
      include_resource: valueOf("include_resource") !== ""
    })
    const shown = () => html`<p>Store the signing secret. It is not shown again.</p><pre>${secret}</pre>`
    dialog("Signing secret", "Done", shown, async () => {})
  })
}
