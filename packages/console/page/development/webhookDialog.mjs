// The dialogs for webhooks: to create, change, and disable one, and for its secret.
import { html } from "lit-html"
import { openDialog } from "../elements/dialog.mjs"

/**
 * @import { CreatedWebhook, NewWebhook, Webhook, WebhookEventType } from "@messaging-crm/client"
 * @import { ValueOf } from "../elements/dialog.mjs"
 */

/**
 * Whether the dialog for a new webhook preselects an event type. A webhook can have at most five types.
 *
 * @type {Readonly<Record<WebhookEventType, boolean>>}
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

/**
 * Draws the fields of a webhook.
 *
 * @param {Pick<Webhook, "event_types" | "include_resource" | "url">} webhook
 */
const webhookFields = ({ event_types, include_resource, url }) =>
  html`<label>URL<input name="url" type="url" required value=${url} placeholder="https://example.com/hooks" autocomplete="off"></label>
    <fieldset><legend>Events (1 to 5)</legend>${
    Object.keys(eventTypes).map((type) =>
      html`<label><input type="checkbox" name=${type} ?checked=${
        event_types.some((name) => name === type)
      }>${type}</label>`
    )
  }</fieldset>
    <label class="check"><input type="checkbox" name="include_resource" ?checked=${include_resource}>Include the resource in events</label>`

/**
 * @param {ValueOf} valueOf
 * @returns {NewWebhook}
 */
const webhookOf = (valueOf) => ({
  url: valueOf("url"),
  event_types: /** @type {ReadonlyArray<WebhookEventType>} */ (Object.keys(eventTypes)).filter((type) =>
    valueOf(type) !== ""
  ),
  include_resource: valueOf("include_resource") !== ""
})

/**
 * Shows the signing secret of a webhook, which the API returns only once.
 *
 * @param {Pick<CreatedWebhook, "signing_secret">} webhook
 * @param {string} about
 */
const showSecret = ({ signing_secret }, about) => {
  let isCopied = false
  const fields = (/** @type {() => void} */ draw) => {
    const copy = async () => {
      await navigator.clipboard.writeText(signing_secret)
      isCopied = true
      draw()
    }
    return html`<p>${about}</p><div class="secret"><pre>${signing_secret}</pre>
      <button type="button" @click=${copy}>Copy</button></div>
      <p class="faint" role="status">${isCopied ? "Copied to the clipboard." : ""}</p>`
  }
  openDialog("Signing secret", { submit: "Done", cancel: null }, fields, async () => {})
}

/**
 * Opens a dialog for a new webhook, and then shows its signing secret.
 *
 * @param {(webhook: NewWebhook) => Promise<CreatedWebhook>} createWebhook
 */
export const openWebhookDialog = (createWebhook) => {
  const selected = /** @type {Array<WebhookEventType>} */ (Object.keys(eventTypes)).filter((type) => eventTypes[type])
  const fields = () => webhookFields({ url: "", event_types: selected, include_resource: false })
  openDialog(
    "New webhook",
    { submit: "Create" },
    fields,
    async (valueOf) =>
      showSecret(await createWebhook(webhookOf(valueOf)), "Store the signing secret. It is not shown again.")
  )
}

/**
 * Opens a dialog that changes a webhook.
 *
 * @param {Webhook} webhook
 * @param {(change: NewWebhook) => Promise<unknown>} updateWebhook
 */
export const openEditDialog = (webhook, updateWebhook) =>
  openDialog(
    "Edit webhook",
    { submit: "Save" },
    () => html`${webhookFields(webhook)}<p class="hint faint">Pending deliveries are posted to the new URL.</p>`,
    (valueOf) => updateWebhook(webhookOf(valueOf))
  )

/**
 * Opens a dialog that replaces the signing secret of a webhook, and then shows the new one.
 *
 * @param {Webhook} webhook
 * @param {() => Promise<CreatedWebhook>} rotateSecret
 */
export const openRotateDialog = ({ url }, rotateSecret) =>
  openDialog(
    "Rotate the secret",
    { submit: "Rotate" },
    () =>
      html`<p class="path">${url}</p><p>For 24 hours, requests are signed with the old and with the new secret.</p>`,
    async () => showSecret(await rotateSecret(), "Store the new signing secret within 24 hours. It is not shown again.")
  )

/**
 * Opens a dialog that disables a webhook.
 *
 * @param {Webhook} webhook
 * @param {() => Promise<unknown>} disableWebhook
 */
export const openDisableDialog = ({ url }, disableWebhook) =>
  openDialog(
    "Disable the webhook",
    { submit: "Disable" },
    () =>
      html`<p class="path">${url}</p><p>Disabling is permanent, and pending deliveries fail. To receive events again, create
      a new webhook.</p>`,
    disableWebhook
  )
