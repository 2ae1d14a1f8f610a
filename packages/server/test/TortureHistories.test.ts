/** Histories made by hand, each with the rule that it breaks, or with none. */
import { assert, describe, it } from "@effect/vitest"
import { emptyContact } from "@messaging-crm/core/Contacts"
import { check } from "../testing/torture/Checker.ts"
import type { Answer, Call, Fault, FinalState, History, Resource } from "../testing/torture/History.ts"

const ids = {
  contact: "019aa0c2-5b00-7000-8000-000000000001",
  conversation: "019aa0c2-5b00-7000-8000-000000000002",
  tag: "019aa0c2-5b00-7000-8000-000000000003",
  webhook: "019aa0c2-5b00-7000-8000-000000000004"
}

const contact = (fields: Resource = {}): Resource => ({
  ...emptyContact,
  id: ids.contact,
  first_name: "Kim",
  updated_at: "2026-11-20T10:00:00.000Z",
  ...fields
})

const noon = "2026-11-20T12:00:00.000Z"
const later = "2026-11-20T13:00:00.000Z"

const open = (opened_at = noon): Resource => ({
  id: ids.conversation,
  channel: { id: "channel", type: "phone_messaging" },
  contact: { id: ids.contact, external_id: "+4915112345678" },
  status: "open",
  close_category: null,
  assigned_user_id: null,
  opened_at,
  closed_at: null,
  last_activity_at: noon
})

const closed = (closed_at = noon): Resource => ({ ...open(), status: "closed", closed_at })

const webhook = (fields: Resource = {}): Resource => ({
  id: ids.webhook,
  url: "https://shop.example/a",
  event_types: ["message.sent"],
  status: "active",
  ...fields
})

interface Attempt {
  readonly from: number
  /** Null without an answer. */
  readonly to: number | null
  readonly status?: number
  readonly data?: unknown
  readonly error?: { readonly code: string; readonly param?: string }
  readonly retry_after_seconds?: number
  /** The position of the attempt that it replays. */
  readonly replays?: number
  readonly key?: string
  readonly key_id?: string
}

type Made = (index: number) => Call

const call = (
  operation: Call["operation"],
  method: Call["request"]["method"],
  path: string,
  body: unknown,
  attempt: Attempt
): Made =>
(index) => {
  const { data, error, from, key = null, key_id = "key", replays, retry_after_seconds = null, status = 200, to } =
    attempt
  const shown = error === undefined ? { data } : { error: { param: null, ...error } }
  const answer: Answer = {
    status,
    body: shown,
    text: JSON.stringify(shown),
    is_replay: replays !== undefined,
    original_request_id: replays === undefined ? null : `r-${replays}`,
    retry_after_seconds,
    rate: null
  }
  return {
    client: index,
    index,
    organization: 0,
    operation,
    request: {
      method,
      path,
      body,
      idempotency_key: key,
      request_id: `r-${index}`,
      key_id: method === "COMMAND" ? null : key_id
    },
    started_at: from,
    ended_at: to,
    answer: to === null ? null : answer
  }
}

const create = (attempt: Attempt) =>
  call("contacts.create", "POST", "/contacts", { first_name: "Kim" }, {
    status: 201,
    data: contact(),
    key: "create-1",
    ...attempt
  })
const update = (city: string, attempt: Attempt) =>
  call("contacts.update", "PATCH", `/contacts/${ids.contact}`, { city }, {
    data: contact({ city }),
    key: `city-${city}`,
    ...attempt
  })
const get = (city: string | null, attempt: Attempt) =>
  call("contacts.get", "GET", `/contacts/${ids.contact}`, null, { data: contact({ city }), ...attempt })
const close = (data: Resource, attempt: Attempt) =>
  call("conversations.close", "POST", `/conversations/${ids.conversation}/close`, null, {
    data,
    key: "close-1",
    ...attempt
  })
const reopen = (attempt: Attempt) =>
  call("conversations.reopen", "POST", `/conversations/${ids.conversation}/reopen`, null, {
    data: open(later),
    key: "open-1",
    ...attempt
  })
const see = (data: Resource, attempt: Attempt) =>
  call("conversations.get", "GET", `/conversations/${ids.conversation}`, null, { data, ...attempt })
const tag = (name: string, attempt: Attempt) =>
  call("tags.create", "POST", "/tags", { name, color: "red" }, {
    data: { id: `${ids.tag}${name}`, name, color: "red" },
    key: `tag-${name}`,
    ...attempt
  })
const tags = (names: ReadonlyArray<string>, attempt: Attempt) =>
  call("tags.list", "GET", "/tags", null, {
    data: names.map((name) => ({ id: `${ids.tag}${name}`, name, color: "red" })),
    ...attempt
  })
const disable = (attempt: Attempt) =>
  call("webhooks.disable", "DELETE", `/webhooks/${ids.webhook}`, null, {
    data: webhook({ status: "disabled" }),
    key: "disable-1",
    ...attempt
  })
const listWebhooks = (data: ReadonlyArray<Resource>, attempt: Attempt) =>
  call("webhooks.list", "GET", "/webhooks", null, { data, ...attempt })
const revoke = (attempt: Attempt) => call("api_keys.revoke", "COMMAND", "", { id: "key" }, { data: null, ...attempt })

const nothing: FinalState = {
  contacts: [],
  contact_fields: [],
  tags: [],
  channels: [],
  members: [],
  conversations: [],
  messages: {},
  sends: [],
  uncertain_sends: [],
  events: [],
  webhooks: [],
  deliveries: {},
  api_keys: [],
  audit: []
}

const history = (
  made: ReadonlyArray<Made>,
  final: Partial<FinalState>,
  faults: ReadonlyArray<Fault> = []
): History => ({
  seed: 0,
  organizations: [{ id: "acme", final: { ...nothing, ...final } }],
  calls: made.map((one, index) => one(index)),
  accepted: [],
  inbound: [],
  received: [],
  faults,
  unfinished: []
})

/** The rules of single objects, requests, and answers. What is stored besides is left out of these histories. */
const isAbout = /^(Calls on|Every retry|A request|Different|A replay|No request|A 503|A key|A revoked|What an answer)/

const rulesOf = (one: History): ReadonlyArray<string> =>
  Array.from(new Set(check(one).map(({ rule }) => rule).filter((rule) => isAbout.test(rule))))

const sound: Readonly<Record<string, History>> = {
  "an update without an answer that is seen later": history([
    create({ from: 0, to: 1 }),
    update("Bonn", { from: 2, to: null }),
    get(null, { from: 3, to: 4 }),
    get("Bonn", { from: 5, to: 6 })
  ], { contacts: [contact({ city: "Bonn" })] }),
  "an update that is repeated until it is answered": history([
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
  "a close that changed nothing, of which only a repetition was answered": history([
    see(closed(), { from: 0, to: 1 }),
    close(closed(), { from: 2, to: null }),
    reopen({ from: 4, to: 5 }),
    close(open(later), { from: 6, to: 7, replays: 1 })
  ], { conversations: [open(later)] }),
  "a tag that another spelling of its name refuses": history([
    tag("VIP", { from: 0, to: 1 }),
    tag("vip", { from: 2, to: 3, status: 409, error: { code: "conflict", param: "name" } }),
    tags(["VIP"], { from: 4, to: 5 })
  ], { tags: [{ id: `${ids.tag}VIP`, name: "VIP", color: "red" }] }),
  "a failure during a fault": history(
    [
      get(null, { from: 0, to: 1, status: 500, error: { code: "internal_error" } })
    ],
    {},
    [{ kind: "kill", target: "server", from: 0, to: 1 }]
  ),
  "a key that is rejected once it is revoked": history([
    get(null, { from: 0, to: 5 }),
    revoke({ from: 1, to: 2 }),
    get(null, { from: 3, to: 4, status: 401, error: { code: "unauthorized" } })
  ], { contacts: [contact()] })
}

const broken: Readonly<Record<string, readonly [RegExp, History]>> = {
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
  "a contact that vanishes": [/^What an answer has shown/, history([create({ from: 0, to: 1 })], {})],
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
  "a conversation that nobody opened": [
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
  "two answers that are not replays": [
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
  "a failure without a fault": [
    /^No request fails/,
    history([
      get(null, { from: 0, to: 1, status: 500, error: { code: "internal_error" } })
    ], {})
  ],
  "a 503 without a hint": [
    /^A 503 says/,
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

describe("a history made by hand", () => {
  for (const [name, one] of Object.entries(sound)) {
    it(`sound: ${name}`, () => assert.deepStrictEqual(rulesOf(one), []))
  }

  for (const [name, [rule, one]] of Object.entries(broken)) {
    it(`broken: ${name}`, () => assert.isTrue(rulesOf(one).some((found) => rule.test(found)), rulesOf(one).join(", ")))
  }
})
