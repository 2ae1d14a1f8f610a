/** The text of a commit's statement depends on the shape of its changes alone, so commits of one shape can share it. */
import { assert, it } from "@effect/vitest"
import * as Fixtures from "@messaging-crm/conformance/Fixtures"
import * as Changes from "@messaging-crm/core/Changes"
import { type ContactField, ContactFieldRows, CreateContactField } from "@messaging-crm/core/ContactFields"
import { ContactRows } from "@messaging-crm/core/Contacts"
import {
  AuditRecordId,
  ContactFieldId,
  ContactId,
  ConversationId,
  EventId,
  OrganizationId,
  TagId
} from "@messaging-crm/core/Ids"
import { CreateTag, TagRows } from "@messaging-crm/core/Tags"
import { type ClaimedWork, kind_rules } from "@messaging-crm/core/WorkQueue"
import { Arbitrary, DateTime, Schema } from "effect"
import { shapeOf } from "../src/work/BatchedCommit/Compatibility.ts"
import type { CommitRequest } from "../src/work/Commit/Part.ts"
import { statementOf } from "../src/work/Commit/Statement.ts"

const uuid = (n: number) => `01990000-0000-7000-8000-${String(n).padStart(12, "0")}`
const at = DateTime.makeUnsafe("2026-11-20T12:00:00.000Z")

const claimed = (n: number): ClaimedWork => ({
  organization_id: OrganizationId.make(uuid(1)),
  kind: "send",
  lane: uuid(n),
  lane_cap: 1,
  ref: uuid(n),
  attempt: 1,
  defects: 0,
  token: uuid(n),
  trace: null
})

const event = (n: number) =>
  Changes.raise({ id: EventId.make(uuid(n)), type: "message.sent", body: "{}", created_at: at, resource: null })

const tag = (n: number) => ({
  ...CreateTag.make({ name: `tag ${n}`, color: "red" }),
  id: TagId.make(uuid(n)),
  name_key: `tag ${n}`
})

const tag_key = (n: number) => ({ id: TagId.make(uuid(n)), version: 1 })
const field_key = (n: number) => ({ id: ContactFieldId.make(uuid(n)), version: 1 })
const contact_key = (n: number) => ({ id: ContactId.make(uuid(n)), version: 1 })

const field = (n: number): ContactField => ({
  ...CreateContactField.make({ key: `key_${n}`, name: `Field ${n}`, type: "text", options: null }),
  id: ContactFieldId.make(uuid(n)),
  created_at: at
})

type Make = (n: number) => Changes.Changes

/** The variants of each part of changes, of one row each; `n` makes its keys unique. */
const kinds: {
  readonly [Part in Exclude<keyof Changes.Changes, "abandon">]-?: readonly [Make, ...ReadonlyArray<Make>]
} = {
  expect: [(n) => TagRows.expect(tag_key(n)), (n) => ContactFieldRows.expect(field_key(n))],
  insert: [(n) => TagRows.insert(tag(n)), (n) => ContactFieldRows.insert(field(n))],
  update: [
    (n) => ContactRows.update(contact_key(n), { city: "Rome" }),
    (n) => ContactRows.update(contact_key(n), { search_text: "rome" }),
    (n) => ContactRows.update(contact_key(n), { tags: [] }),
    (n) => TagRows.update(tag_key(n), { color: "blue" })
  ],
  remove: [
    (n) => Changes.removable(TagRows).remove(tag_key(n)),
    (n) => Changes.removable(ContactFieldRows).remove(field_key(n))
  ],
  aliases: [(n) => Changes.aliases({ channel_type: "phone_messaging", name: `${n}`, identity_id: uuid(n) })],
  touch: [(n) =>
    Changes.touch({
      conversation_id: ConversationId.make(uuid(n)),
      conversation_version: n % 2 === 0 ? 1 : null,
      contact_id: ContactId.make(uuid(n)),
      at,
      preview: "Hello",
      last_inbound_at: null
    })],
  raise: [event],
  expand: [(n) => Changes.expand(EventId.make(uuid(n)))],
  enqueue: [
    (n) => Changes.enqueue({ kind: "send", lane: uuid(n), ref: uuid(n), due_at: at }),
    (n) => Changes.enqueue({ kind: "webhook_replay", lane: uuid(n), ref: uuid(n), due_at: at })
  ],
  expedite: [(n) => Changes.expedite({ kind: "webhook_delivery", lane: uuid(n), ref: uuid(n), due_at: at })],
  throttle: [
    (n) => Changes.throttle({ kind: "send", lane: uuid(n), until: at, cap: 1 }),
    (n) => Changes.throttle({ kind: "send", lane: uuid(n), until: null, cap: kind_rules.send.cap })
  ],
  settle: [
    (n) => Changes.finish(claimed(n)),
    (n) => Changes.finish({ ...claimed(n), kind: "webhook_delivery" }),
    ...(["finish_if_leased", "keep", "release"] as const).map((outcome): Make => (n) =>
      Changes.settle({ claimed: claimed(n), outcome })
    ),
    ...(["defect", "postpone"] as const).map((outcome): Make => (n) =>
      Changes.settle({ claimed: claimed(n), outcome, due_at: at })
    )
  ],
  callback: [(n) => ({ callback: uuid(n) })],
  response: [
    (n) => ({ response: { ...Fixtures.idempotencyRecord, key: `key-${n}` } }),
    (n) => ({ response: { ...Fixtures.idempotencyRecord, key: `key-${n}`, status: null, body: null } })
  ],
  audit: [(n) => ({
    audit: {
      id: AuditRecordId.make(uuid(n)),
      at,
      operation: "tags.create",
      resource_id: uuid(n),
      key_id: null,
      member_id: null,
      request_id: null
    }
  })]
}

/** The parts of which changes can have several rows without another shape. */
const several = new Set(["expect", "update", "remove", "aliases", "raise", "expand", "enqueue", "expedite", "throttle"])

const integer = (minimum: number, maximum: number) =>
  Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum, maximum })))

/** A part, the variant of each of its rows, and those of another request. */
const choice = Arbitrary.all({
  part: integer(0, Object.keys(kinds).length - 1),
  rows: Arbitrary.array(integer(0, 9), { minLength: 1, maxLength: 3 }),
  other: Arbitrary.array(integer(0, 9), { minLength: 1, maxLength: 3 })
})

/** Makes a request with the chosen parts. Every part is chosen once, whatever the number of its rows. */
const requestOf = (
  chosen: ReadonlyArray<{ readonly part: number; readonly rows: ReadonlyArray<number> }>,
  first: number
): CommitRequest => {
  let next = first
  const rows = new Map(chosen.map(({ part, rows }) => [part, rows]))
  const changes = Array.from(rows).flatMap(([part, variants]) => {
    const entry = Object.entries(kinds)[part]
    if (entry === undefined) return []
    const [name, makes] = entry
    return variants.slice(0, several.has(name) ? variants.length : 1)
      .map((variant) => (makes[variant % makes.length] ?? makes[0])(next++))
  })
  return { organization_id: OrganizationId.make(uuid(1)), changes: Changes.all(...changes), trace: null }
}

const textOf = (...requests: Parameters<typeof statementOf>[0]) => statementOf(requests, null).text

/** Asserts that two requests of one shape have one text, together and alone. */
const assertOneText = (one: CommitRequest, other: CommitRequest) => {
  if (shapeOf(one) !== shapeOf(other)) return
  assert.strictEqual(textOf(one), textOf(other))
  assert.strictEqual(textOf(one, other), textOf(one))
}

it("commits with one part, of any two variants, have one text if they have one shape", () => {
  for (const [part, makes] of Object.values(kinds).entries()) {
    const requests = makes.map((_, variant) => (first: number) => requestOf([{ part, rows: [variant] }], first))
    for (const one of requests) for (const other of requests) assertOneText(one(100), other(200))
  }
})

it.prop("commits of one shape have one text, whatever the number and the variants of their rows", {
  parts: Arbitrary.array(choice, { maxLength: 5 })
}, ({ parts: chosen }) => {
  const one = requestOf(chosen, 100)
  const others = chosen.map(({ other, part }) => ({ part, rows: other }))
  assertOneText(one, requestOf(others, 200))
  const same = chosen.map(({ part, rows: [first = 0] }) => ({ part, rows: [first] }))
  const more = same.map(({ part, rows }) => ({ part, rows: [...rows, ...rows] }))
  assert.strictEqual(shapeOf(requestOf(same, 300)), shapeOf(requestOf(more, 400)))
  assertOneText(requestOf(same, 300), requestOf(more, 400))
}, { arbitrary: { runs: 500 } })

it("every part of changes that is added or left out changes the shape or the text", () => {
  const whole = requestOf(Object.keys(kinds).map((_, part) => ({ part, rows: [0] })), 100)
  for (const part of Object.keys(kinds) as ReadonlyArray<keyof typeof kinds>) {
    const { [part]: _, ...changes } = whole.changes
    const without = { ...whole, changes }
    assert.notStrictEqual(shapeOf(without), shapeOf(whole), part)
    assert.notStrictEqual(statementOf([without], null).text, statementOf([whole], null).text, part)
  }
})
