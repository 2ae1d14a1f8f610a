// The state of the development views before anything is read.

/**
 * @import { Webhook, WebhookDelivery, WebhookEvent } from "@messaging-crm/client"
 * @import { CompletedRequest, SendReport } from "../../src/Monitor.ts"
 */

export const initialActivity = {
  /** @type {Array<CompletedRequest & { at: string }>} */
  requests: [],
  /** @type {Array<WebhookEvent>} */
  events: [],
  /** @type {Map<string, SendReport>} */
  sends: new Map(),
  /**
   * The counts of each minute since 1970.
   *
   * @type {Record<"deliveries" | "messages" | "requests", Record<number, number>>}
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
