// The state of the development views before anything is read.

/**
 * @import { Webhook, WebhookDelivery, WebhookEvent } from "@messaging-crm/client"
 * @import { Counts, RequestReport, SendReport } from "../../src/StreamMessages.ts"
 */

export const initialActivity = {
  /** @type {Array<RequestReport>} */
  requests: [],
  /** @type {Array<WebhookEvent>} */
  events: [],
  /** @type {Map<string, SendReport>} */
  sends: new Map(),
  /**
   * The counts of each minute since 1970.
   *
   * @type {Counts}
   */
  counts: { requests: {}, deliveries: {}, messages: {} },
  /** @type {ReadonlyArray<Webhook>} */
  webhooks: [],
  /**
   * The selected webhook.
   *
   * @type {string | null}
   */
  webhook_id: null,
  /** @type {ReadonlyArray<WebhookDelivery>} */
  deliveries: [],
  /**
   * The event or delivery, or the ID of the request, whose details are shown.
   *
   * @type {string | null}
   */
  expanded_id: null
}
