/** The text of a commit's statement depends on the shape of its changes alone, so commits of one shape can share it. */
import { assert, it } from "@effect/vitest"
import * as Fixtures from "@messaging-crm/conformance/Fixtures"
import * as Changes from "@messaging-crm/core/Changes"
import { ContactRows } from "@messaging-crm/core/Contacts"
import { AuditRecordId, ContactId, ConversationId, EventId, OrganizationId, TagId } from "@messaging-crm/core/Ids"
import { CreateTag, TagRows } from "@messaging-crm/core/Tags"
import type { ClaimedWork } from "@messaging-crm/core/WorkQueue"
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

/** One row of each part of changes; `n` makes its keys unique. */
const kinds: { readonly [Part in Exclude<keyof Changes.Changes, "abandon">]-?: (n: number) => Changes.Changes } = {
  expect: (n) => TagRows.expect({ id: TagId.make(uuid(n)), version: 1 }),
  insert: (n) => TagRows.insert(tag(n)),
  update: (n) => ContactRows.update({ id: ContactId.make(uuid(n)), version: 1 }, { city: "Rome" }),
  remove: (n) => TagRows.remove({ id: TagId.make(uuid(n)) }),
  aliases: (n) => Changes.aliases({ channel_type: "phone_messaging", name: `${n}`, identity_id: uuid(n) }),
  touch: (n) =>
    Changes.touch({
      conversation_id: ConversationId.make(uuid(n)),
      conversation_version: n % 2 === 0 ? 1 : null,
      contact_id: ContactId.make(uuid(n)),
      at,
      preview: "Hello",
      last_inbound_at: null
    }),
  raise: event,
  enqueue: (n) => Changes.enqueue({ kind: "send", lane: uuid(n), ref: uuid(n), due_at: at }),
  throttle: (n) => Changes.throttle({ kind: "send", lane: uuid(n), until: at, cap: 1 }),
  settle: (n) => Changes.finish(claimed(n)),
  callback: (n) => ({ callback: uuid(n) }),
  response: (n) => ({ response: { ...Fixtures.idempotencyRecord, key: `key-${n}` } }),
  audit: (n) => ({
    audit: {
      id: AuditRecordId.make(uuid(n)),
      at,
      operation: "tags.create",
      resource_id: uuid(n),
      key_id: null,
      member_id: null,
      request_id: null
    }
  })
}

/** The parts of which changes can have several rows without another shape. */
const several = new Set(["expect", "update", "remove", "aliases", "raise", "enqueue", "throttle"])

const integer = (minimum: number, maximum: number) =>
  Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum, maximum })))

const parts = Arbitrary.array(
  Arbitrary.all({ part: integer(0, Object.keys(kinds).length - 1), rows: integer(1, 3) }),
  { maxLength: 5 }
)

/** Makes a request with the chosen parts. Every part is chosen once, whatever the number of its rows. */
const requestOf = (
  chosen: ReadonlyArray<{ readonly part: number; readonly rows: number }>,
  first: number
): CommitRequest => {
  let next = first
  const rows = new Map(chosen.map(({ part, rows }) => [part, rows]))
  const changes = Array.from(rows).flatMap(([part, count]) => {
    const entry = Object.entries(kinds)[part]
    if (entry === undefined) return []
    const [name, make] = entry
    return Array.from({ length: several.has(name) ? count : 1 }, () => make(next++))
  })
  return {
    organization_id: OrganizationId.make(uuid(1)),
    changes: Changes.all(...changes),
    isSubscribed: false,
    trace: null
  }
}

it.prop("commits of one shape have one text, together and alone, whatever the number of their rows", {
  parts,
  counts: Arbitrary.array(integer(1, 3), { minLength: 5, maxLength: 5 })
}, ({ counts, parts: chosen }) => {
  const one = requestOf(chosen, 100)
  const other = requestOf(chosen.map(({ part }, index) => ({ part, rows: counts[index] ?? 1 })), 200)
  assert.strictEqual(shapeOf(one), shapeOf(other))
  const text = (...requests: Parameters<typeof statementOf>[0]) => statementOf(requests, null).text
  assert.strictEqual(text(one), text(other))
  assert.strictEqual(text(one, other), text(one))
}, { arbitrary: { runs: 300 } })

it("every part of changes that is added or left out changes the shape or the text", () => {
  const whole = requestOf(Object.keys(kinds).map((_, part) => ({ part, rows: 1 })), 100)
  for (const part of Object.keys(kinds) as ReadonlyArray<keyof typeof kinds>) {
    const { [part]: _, ...changes } = whole.changes
    const without = { ...whole, changes }
    assert.notStrictEqual(shapeOf(without), shapeOf(whole), part)
    assert.notStrictEqual(statementOf([without], null).text, statementOf([whole], null).text, part)
  }
})
