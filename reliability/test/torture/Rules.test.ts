/** Handwritten histories that break a rule for requests, sends, messages, lists, responses, or keys. */
import type { History } from "../../torture/History.ts"
import { create, get, getSend, list, revoke, say, update } from "./HandwrittenCalls.ts"
import { contact, history, send, sent } from "./HandwrittenHistories.ts"
import { objectAndRequestRules, testVerdicts } from "./Verdicts.ts"

const inOrder = sent(["1", "2"])
const reversed = sent(["2", "1"])
const changed = sent(["1"], { text: "other" })
const single = sent(["1"])

const accepted: Readonly<Record<string, History>> = {
  "sends in order, and a list of them": history(
    [
      say("1", { from: 0, to: 1 }),
      say("2", { from: 2, to: 3 }),
      list(["2", "1"], { from: 4, to: 5 })
    ],
    inOrder.final,
    [],
    inOrder.accepted
  ),
  "sends out of order, of which the earlier one was uncertain": history(
    [
      say("1", { from: 0, to: 1 }),
      say("2", { from: 2, to: 3 })
    ],
    { ...reversed.final, uncertain_sends: ["1"] },
    [],
    reversed.accepted
  ),
  "a failure during a fault of the database, and after it": history(
    [
      get(null, { from: 0, to: 1, status: 500, error: { code: "internal_error" } }),
      get(null, { from: 1500, to: 1501, status: 500, error: { code: "internal_error" } })
    ],
    {},
    [{ kind: "database_cut", target: "server", from: 0, to: 1 }]
  ),
  "a failure of the previous version, which has not reached its cell after a fault of the database": history(
    [get(null, { from: 5000, to: 5001, status: 500, error: { code: "internal_error" } })],
    {},
    [
      { kind: "database_cut", target: "server", from: 0, to: 1 },
      { kind: "older_version", target: "server", from: 1000, to: 5002 }
    ]
  ),
  "a key that is rejected after it is revoked": history([
    get(null, { from: 0, to: 5 }),
    revoke({ from: 1, to: 2 }),
    get(null, { from: 3, to: 4, status: 401, error: { code: "unauthorized" } })
  ], { contacts: [contact()] })
}

const reported: Readonly<Record<string, readonly [RegExp, History]>> = {
  "a replay with other bytes": [
    /^Every retry/,
    history([
      create({ from: 0, to: 1 }),
      create({ from: 2, to: 3, replays: 0, data: contact({ city: "Bonn" }) })
    ], { contacts: [contact()] })
  ],
  "two responses that are not replays": [
    /^A request takes effect once/,
    history([
      create({ from: 0, to: 1 }),
      create({ from: 2, to: 3 })
    ], { contacts: [contact()] })
  ],
  "a conflict without another request": [
    /^A request is an idempotency conflict only/,
    history([
      create({ from: 0, to: 1, status: 409, error: { code: "idempotency_conflict" } })
    ], {})
  ],
  "two requests with one key": [
    /^Different requests with one key/,
    history([
      create({ from: 0, to: 1, key: "a" }),
      update("Bonn", { from: 2, to: 3, key: "a" })
    ], { contacts: [contact({ city: "Bonn" })] })
  ],
  "sends out of order": [
    /^Sends of one conversation/,
    history(
      [
        say("1", { from: 0, to: 1 }),
        say("2", { from: 2, to: 3 })
      ],
      reversed.final,
      [],
      reversed.accepted
    )
  ],
  "a message with another text": [/^An accepted message/, history([], changed.final, [], changed.accepted)],
  "a message that is lost": [/^A message that was stored/, history([], { ...single.final, messages: {} })],
  "a message with the text of another request": [
    /^A message has the text/,
    history(
      [
        say("1", { from: 0, to: 1, data: send("2") })
      ],
      sent(["2"]).final,
      [],
      sent(["2"]).accepted
    )
  ],
  "a list in another order": [
    /^A list is ordered/,
    history(
      [
        list(["1", "2"], { from: 0, to: 1 })
      ],
      inOrder.final,
      [],
      inOrder.accepted
    )
  ],
  "a list without a send": [
    /^A complete list/,
    history(
      [
        say("1", { from: 0, to: 1 }),
        list([], { from: 2, to: 3 })
      ],
      inOrder.final,
      [],
      inOrder.accepted
    )
  ],
  "a send that a later read does not find": [
    /^Objects in responses are found/,
    history(
      [
        say("1", { from: 0, to: 1 }),
        getSend("1", { from: 2, to: 3, status: 404, error: { code: "not_found" } })
      ],
      inOrder.final,
      [],
      inOrder.accepted
    )
  ],
  "a request that does not count": [
    /^Each request counts/,
    history(
      [
        getSend("1", { from: 0, to: 1, remaining: 7 }),
        getSend("1", { from: 2, to: 3, remaining: 7 })
      ],
      inOrder.final,
      [],
      inOrder.accepted
    )
  ],
  "a failure without a fault": [
    /^No request fails/,
    history([
      get(null, { from: 0, to: 1, status: 500, error: { code: "internal_error" } })
    ], {})
  ],
  "a failure long after a fault": [
    /^No request fails/,
    history(
      [get(null, { from: 2500, to: 2501, status: 500, error: { code: "internal_error" } })],
      {},
      [{ kind: "database_cut", target: "server", from: 0, to: 1 }]
    )
  ],
  "a failure of the previous version without a fault of the database": [
    /^No request fails/,
    history(
      [get(null, { from: 0, to: 1, status: 500, error: { code: "internal_error" } })],
      {},
      [{ kind: "older_version", target: "server", from: 0, to: 1 }]
    )
  ],
  "a failure during a fault of an endpoint": [
    /^No request fails/,
    history(
      [get(null, { from: 0, to: 1, status: 500, error: { code: "internal_error" } })],
      {},
      [{ kind: "endpoint_cut", target: "organization 0", from: 0, to: 1 }]
    )
  ],
  "a 503 without Retry-After": [
    /^A 503 has/,
    history([
      get(null, { from: 0, to: 1, status: 503, error: { code: "overloaded" } })
    ], {})
  ],
  "a valid key that is rejected": [
    /^A key is valid/,
    history([
      get(null, { from: 0, to: 1, status: 401, error: { code: "unauthorized" } })
    ], {})
  ],
  "a revoked key that is accepted": [
    /^A revoked key/,
    history([
      revoke({ from: 0, to: 1 }),
      get(null, { from: 2, to: 3 })
    ], { contacts: [contact()] })
  ]
}

testVerdicts("the checker of rules", objectAndRequestRules, accepted, reported)
