// Reads the webhooks, and the deliveries of the selected one.
import { refreshing, showingErrors } from "../actions.mjs"
import { callOperation } from "../server.mjs"
import { isVisible, state, updateState } from "../store.mjs"

/** @import { Webhook } from "@messaging-crm/client" */

/**
 * Reads the deliveries of a webhook, and shows them if it is still selected.
 *
 * @param {string} id
 */
export const loadDeliveries = async (id) => {
  const { data } = await callOperation("deliveries", { id })
  if (state.webhook_id === id) updateState({ deliveries: data })
}

/** Selects a webhook, and reads its deliveries. */
export const selectWebhook = showingErrors(async (/** @type {string} */ id) => {
  updateState({ webhook_id: id, deliveries: [], expanded_id: null })
  await loadDeliveries(id)
})

const readWebhooks = async () => {
  const { data } = await callOperation("webhooks")
  updateState({ webhooks: data })
  const selected = data.find((/** @type {Webhook} */ { id }) => id === state.webhook_id) ?? data[0]
  if (selected === undefined) return
  if (selected.id === state.webhook_id) await loadDeliveries(selected.id)
  else await selectWebhook(selected.id)
}

/** Reads the webhooks, and the deliveries of the selected one. */
export const loadWebhooks = showingErrors(readWebhooks)

/** Reads the deliveries again if they are visible. */
export const refreshDeliveries = refreshing(async () => {
  if (isVisible("webhooks")) await readWebhooks()
})
