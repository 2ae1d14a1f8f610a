/** Handwritten histories: the checker must accept some, and report one rule for each of the others. */
import { assert, describe, it } from "@effect/vitest"
import { check } from "../checker/Checker.ts"
import type { History } from "../History.ts"
import {
  close,
  create,
  disable,
  get,
  getSend,
  list,
  listWebhooks,
  reopen,
  revoke,
  say,
  see,
  tag,
  tags,
  update
} from "./HandwrittenCalls.ts"
import { closed, contact, history, ids, later, open, send, sent, webhook } from "./HandwrittenHistories.ts"

/** The rules of single objects, requests, and responses. These histories omit the data that other rules need. */
const checkedRules =
  /^(Calls on|Every retry|A request|Different|A replay|No request|A 503|A key|A revoked|Objects in responses|A list|A complete list|A message|An accepted|Sends of|Each request)/

const rulesOf = (one: History): ReadonlyArray<string> =>
  Array.from(new Set(check(one).map(({ rule }) => rule).filter((rule) => checkedRules.test(rule))))

const inOrder = sent(["1", "2"])
const reversed = sent(["2", "1"])
const changed = sent(["1"], { text: "other" })
const single = sent(["1"])

const accepted: Readonly<Record<string, History>> = {
  "an update without a response that is seen later": history([
    create({ from: 0, to: 1 }),
    update("Bonn", { from: 2, to: null }),
    get(null, { from: 3, to: 4 }),
    get("Bonn", { from: 5, to: 6 })
  ], { contacts: [contact({ city: "Bonn" })] }),
  "an update that is repeated until it gets a response": history([
    create({ from: 0, to: 1 }),
    update("Bonn", { from: 2, to: null, key: "a" }),
    update("Bonn", { from: 3, to: 8, key: "a", replays: 1 }),
    update("Köln", { from: 5, to: 6 })
  ], { contacts: [contact({ city: "Köln" })] }),
  "a repeated close that changed something": history([
    see(open(), { from: 0, to: 1 }),
    close(closed(later), { from: 2, to: 3 }),
    reopen({ from: 4, to: 5 }),
    close(closed(later), { from: 6, to: 7, replays: 1 })
  ], { conversations: [open(later)] }),
  "a repeated close that changed nothing, and is a read": history([
    see(closed(), { from: 0, to: 1 }),
    close(closed(), { from: 2, to: 3 }),
    reopen({ from: 4, to: 5 }),
    close(open(later), { from: 6, to: 7, replays: 1 })
  ], { conversations: [open(later)] }),
  "a close that changed nothing, of which only a repetition got a response": history([
    see(closed(), { from: 0, to: 1 }),
    close(closed(), { from: 2, to: null }),
    reopen({ from: 4, to: 5 }),
    close(open(later), { from: 6, to: 7, replays: 1 })
  ], { conversations: [open(later)] }),
  "a rejected tag whose name differs in case only": history([
    tag("VIP", { from: 0, to: 1 }),
    tag("vip", { from: 2, to: 3, status: 409, error: { code: "conflict", param: "name" } }),
    tags(["VIP"], { from: 4, to: 5 })
  ], { tags: [{ id: `${ids.tag}VIP`, name: "VIP", color: "red" }] }),
  "a message after the last call, which opens the conversation": {
    ...history([close(closed(), { from: 0, to: 1 })], { conversations: [open(later)] }),
    inbound: [{
      organization: 0,
      channel_id: "channel",
      provider_message_id: "inbound",
      from: "+4915112345678",
      text: "Hello",
      started_at: 5,
      acknowledged_at: 6
    }]
  },
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
  "a key that is rejected after it is revoked": history([
    get(null, { from: 0, to: 5 }),
    revoke({ from: 1, to: 2 }),
    get(null, { from: 3, to: 4, status: 401, error: { code: "unauthorized" } })
  ], { contacts: [contact()] })
}

const reported: Readonly<Record<string, readonly [RegExp, History]>> = {
  "an update that is lost": [
    /^Calls on a contact/,
    history([
      create({ from: 0, to: 1 }),
      update("Bonn", { from: 2, to: 3 })
    ], { contacts: [contact()] })
  ],
  "a contact that is not found after its creation": [
    /^Calls on a contact/,
    history([
      create({ from: 0, to: 1 }),
      get(null, { from: 2, to: 3, status: 404, error: { code: "not_found" } })
    ], { contacts: [contact()] })
  ],
  "a created contact that is not stored at the end": [
    /^Objects in responses are not lost/,
    history([create({ from: 0, to: 1 })], {})
  ],
  "a read that is older than the one before": [
    /^Calls on a contact/,
    history([
      create({ from: 0, to: 1 }),
      update("Bonn", { from: 2, to: 9 }),
      get("Bonn", { from: 3, to: 4 }),
      get(null, { from: 5, to: 6 })
    ], { contacts: [contact({ city: "Bonn" })] })
  ],
  "an update that takes effect twice": [
    /^Calls on a contact/,
    history([
      create({ from: 0, to: 1 }),
      update("Bonn", { from: 2, to: null, key: "a" }),
      update("Bonn", { from: 3, to: 4, key: "a", replays: 1 }),
      update("Köln", { from: 5, to: 6 })
    ], { contacts: [contact({ city: "Bonn" })] })
  ],
  "a close whose repetition is a read although it changed something": [
    /^Calls on a conversation/,
    history([
      see(open(), { from: 0, to: 1 }),
      close(closed(later), { from: 2, to: 3 }),
      reopen({ from: 4, to: 5 }),
      close(open(later), { from: 6, to: 7, replays: 1 })
    ], { conversations: [open(later)] })
  ],
  "an open conversation that no call reopened": [
    /^Calls on a conversation/,
    history([
      see(open(), { from: 0, to: 1 }),
      close(closed(later), { from: 2, to: 3 })
    ], { conversations: [open()] })
  ],
  "two tags with one name": [
    /^Calls on a set of tags/,
    history([
      tag("VIP", { from: 0, to: 1 }),
      tag("vip", { from: 2, to: 3 })
    ], {
      tags: ["VIP", "vip"].map((name) => ({ id: `${ids.tag}${name}`, name, color: "red" }))
    })
  ],
  "a list without a tag": [
    /^Calls on a set of tags/,
    history([
      tag("VIP", { from: 0, to: 1 }),
      tags([], { from: 2, to: 3 })
    ], { tags: [{ id: `${ids.tag}VIP`, name: "VIP", color: "red" }] })
  ],
  "a disabled webhook that is active again": [
    /^Calls on a webhook/,
    history([
      disable({ from: 0, to: 1 }),
      listWebhooks([webhook()], { from: 2, to: 3 })
    ], { webhooks: [webhook({ status: "disabled" })] })
  ],
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

describe("the checker of a handwritten history", () => {
  for (const [name, one] of Object.entries(accepted)) {
    it(`accepts ${name}`, () => assert.deepStrictEqual(rulesOf(one), []))
  }

  for (const [name, [rule, one]] of Object.entries(reported)) {
    it(`reports ${name}`, () =>
      assert.isTrue(rulesOf(one).some((violated) => rule.test(violated)), rulesOf(one).join(", ")))
  }
})
