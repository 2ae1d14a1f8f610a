// The dialog for a new webhook.
import { html } from "lit-html"
import { openDialog } from "../elements/dialog.mjs"

/** @import { NewWebhook, WebhookEventType } from "@messaging-crm/client" */

/**
 * Whether the dialog preselects an event type. A webhook can have at most five types.
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
 * Opens a dialog for a new webhook, and then shows the signing secret that `createWebhook` returns.
 *
 * @param {(webhook: NewWebhook) => Promise<string>} createWebhook
 */
export const openWebhookDialog = (createWebhook) => {
  const fields = () =>
    html`<label>URL<input name="url" type="url" required placeholder="https://example.com/hooks" autocomplete="off"></label>
    <fieldset><legend>Events</legend>${
      Object.entries(eventTypes).map(([type, isSelected]) =>
        html`<label><input type="checkbox" name=${type} ?checked=${isSelected}>${type}</label>`
      )
    }</fieldset>
    <label><input type="checkbox" name="include_resource">Include the resource in events</label>`
  openDialog("New webhook", "Create", fields, async (valueOf) => {
    const event_types = /** @type {ReadonlyArray<WebhookEventType>} */ (Object.keys(eventTypes)).filter((type) =>
      valueOf(type) !== ""
    )
    const secret = await createWebhook({
      url: valueOf("url"),
      event_types,
      include_resource: valueOf("include_resource") !== ""
    })
    const shown = () => html`<p>Store the signing secret. It is not shown again.</p><pre>${secret}</pre>`
    openDialog("Signing secret", "Done", shown, async () => {})
  })
}
