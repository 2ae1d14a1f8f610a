/** Handwritten histories of one webhook: the events that it must receive, and those that a replay must post again. */
import type { History } from "../../torture/History.ts"
import { disable, replay, resubscribe, say, subscribe } from "./HandwrittenCalls.ts"
import { event, history, posted, sent, webhook } from "./HandwrittenHistories.ts"
import { testVerdicts } from "./Verdicts.ts"

type Calls = Parameters<typeof history>[0]

const send = sent(["1"])
const raised = { ...event("message.sent"), data: { send_id: "1" } }

/** A history with a webhook, other calls, and a send whose event has no delivery. */
const undelivered = (fields: Parameters<typeof webhook>[0], ...calls: Calls): History =>
  history(
    [subscribe(["message.sent"], { from: 0, to: 1 }), ...calls],
    { ...send.final, webhooks: [webhook(fields)], events: [raised] },
    [],
    send.accepted
  )

/** A history with the replay of an event, and the requests that the endpoint received. */
const replayed = (received: History["received"], ...calls: Calls): History => ({
  ...history([
    subscribe(["message.sent"], { from: 0, to: 1 }),
    replay({ from: 3, to: 4 }),
    ...calls
  ], { webhooks: [webhook()], events: [event("message.sent")] }),
  received
})

const accepted: Readonly<Record<string, History>> = {
  "an event that can have been raised before the webhook was created": undelivered({}, say("1", { from: 0.5, to: 2 })),
  "an event of a type that the webhook possibly did not have": undelivered(
    {},
    say("1", { from: 2, to: 3 }),
    resubscribe(["contact.created"], { from: 2, to: null }),
    resubscribe(["message.sent"], { from: 4, to: 5 })
  ),
  "an event of a webhook that was possibly disabled at that time": undelivered(
    { status: "disabled" },
    say("1", { from: 2, to: 3 }),
    disable({ from: 2, to: 4 })
  ),
  "an event of a webhook that was updated after it was disabled": undelivered(
    { status: "disabled" },
    disable({ from: 2, to: 3 }),
    resubscribe(["message.sent"], { from: 4, to: 5 }),
    say("1", { from: 6, to: 7 })
  ),
  "an event that a replay posts before the webhook gets another type": {
    ...undelivered(
      {},
      say("1", { from: 2, to: 3 }),
      replay({ from: 3, to: 4 }),
      resubscribe(["contact.created"], { from: 6, to: 7 })
    ),
    received: [{ ...posted("message.sent", 5), text: JSON.stringify(raised) }]
  },
  "an event of a webhook that the service disabled": undelivered({ status: "disabled" }, say("1", { from: 2, to: 3 })),
  "a replay that posts an event again": replayed([posted("message.sent", 2), posted("message.sent", 5)]),
  "a replay of a webhook that possibly has other types at that time": replayed(
    [posted("message.sent", 2)],
    resubscribe(["contact.created"], { from: 3, to: 4 }),
    resubscribe(["message.sent"], { from: 5, to: 6 })
  ),
  "a replay that possibly started before the event was stored": replayed([posted("message.sent", 3)])
}

const deliveryRule = /^A webhook gets each event/
const replayRule = /^A replay posts each stored event/

const reported: Readonly<Record<string, readonly [RegExp, History]>> = {
  "an event without a delivery": [deliveryRule, undelivered({}, say("1", { from: 2, to: 3 }))],
  "an event without a delivery to a webhook whose pending disabling took no effect": [
    deliveryRule,
    undelivered({}, disable({ from: 1, to: null }), say("1", { from: 2, to: 3 }))
  ],
  "an event without a delivery to a webhook that was updated before": [
    deliveryRule,
    undelivered(
      {},
      resubscribe(["contact.created"], { from: 2, to: 3 }),
      resubscribe(["message.sent"], { from: 4, to: 5 }),
      say("1", { from: 6, to: 7 })
    )
  ],
  "a replay that omits an event": [replayRule, replayed([posted("message.sent", 2)])],
  "a replay that omits an event, and another one that posts it": [
    replayRule,
    replayed([posted("message.sent", 2), posted("message.sent", 8)], replay({ from: 6, to: 7 }))
  ],
  "a replay that omits an event of a webhook that was updated before": [
    replayRule,
    replayed(
      [posted("message.sent", 2)],
      resubscribe(["message.sent", "contact.created"], { from: 1.5, to: 1.8 }),
      resubscribe(["message.sent"], { from: 3, to: null })
    )
  ]
}

// These histories omit stored deliveries, and other rules check the state of the webhook.
const checkedRules = new RegExp(`${deliveryRule.source}|${replayRule.source}`)

testVerdicts("the checker of a webhook", checkedRules, accepted, reported)
