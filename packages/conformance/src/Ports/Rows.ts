/** Tests of the guarantees of `Rows`, for every table that it reads. */
import { assert } from "@effect/vitest"
import { type ApiKeyColumns, ApiKeyRows } from "@messaging-crm/core/ApiKeys"
import { type ChannelAccountColumns, ChannelAccountRows } from "@messaging-crm/core/ChannelAccounts"
import { type ChannelHold, ChannelHoldRows } from "@messaging-crm/core/ChannelHolds"
import { type Channel, ChannelRows } from "@messaging-crm/core/Channels"
import { type ContactField, ContactFieldRows } from "@messaging-crm/core/ContactFields"
import {
  ApiKeyId,
  ChannelId,
  ContactFieldId,
  MemberId,
  nil,
  type OrganizationId,
  WebhookId,
  WebhookReplayId
} from "@messaging-crm/core/Ids"
import { type MemberColumns, MemberRows } from "@messaging-crm/core/Members"
import { isRead, type ReadableRows, Rows } from "@messaging-crm/core/Rows"
import { tables } from "@messaging-crm/core/Tables"
import { TagRows } from "@messaging-crm/core/Tags"
import { byCodePoint } from "@messaging-crm/core/Text"
import { WebhookReplayRows } from "@messaging-crm/core/WebhookReplays"
import { healthy, type WebhookColumns, WebhookRows } from "@messaging-crm/core/Webhooks"
import { Arbitrary, DateTime, Effect, Option } from "effect"
import { moment, visibleHardText } from "../Arbitraries.ts"
import * as Fixtures from "../Fixtures.ts"
import { afterNoon, type It, type Options } from "../Fixtures.ts"

/** Makes a row that is not stored yet, with a text and a time of its own. */
type Make<Columns> = (
  organization_id: OrganizationId,
  text: string,
  at: DateTime.Utc
) => Effect.Effect<Columns, never, Effect.Services<ReturnType<typeof Fixtures.tag>>>

/** A table with its key, a new row, and other values of some columns. */
interface Case<Columns extends object, KeyColumn extends keyof Columns & string> {
  readonly rows: ReadableRows<Columns, KeyColumn>
  readonly key: KeyColumn
  readonly make: Make<Columns>
  readonly set: Partial<Omit<Columns, KeyColumn>>
  /** Returns the other value of a column that is unique among all organizations. */
  readonly setUnique?: (id: string) => Partial<Omit<Columns, KeyColumn>>
}

/** Returns the other values of a row, which the rows of other tests do not prevent. */
const otherValues = <Columns extends object, KeyColumn extends keyof Columns & string>(
  { set, setUnique = () => ({}) }: Case<Columns, KeyColumn>
) => Effect.map(Fixtures.uuid, (id): Partial<Omit<Columns, KeyColumn>> => ({ ...set, ...setUnique(id) }))

const valueOf = (row: object, column: string): unknown => Object.entries(row).find(([name]) => name === column)?.[1]

/** Compares two rows by columns with times, texts, or IDs. */
const inOrder = (columns: ReadonlyArray<string>) => (a: object, b: object): number => {
  const texts = (row: object) =>
    columns.map((column) => valueOf(row, column)).map((value) =>
      DateTime.isDateTime(value) ? DateTime.formatIso(value) : String(value)
    )
  return texts(a).map((text, index) => byCodePoint(text, texts(b)[index] ?? "")).find((order) => order !== 0) ?? 0
}

const tableTests = <Columns extends object, KeyColumn extends keyof Columns & string>(
  it: It,
  { runs }: Options,
  each: Case<Columns, KeyColumn>
) => {
  const { key, make, rows: table } = each
  const { name, reading: { order, while_null } } = table.table
  const stored = (row: Columns, version = 1) => ({ ...row, version })
  const sorted = (all: ReadonlyArray<Columns & { readonly version: number }>) => all.toSorted(inOrder(order))

  it.effect.prop(`${name}: returns a row as it was inserted, to its organization only`, {
    text: visibleHardText({ min: 3, max: 40 }),
    at: moment
  }, ({ at, text }) =>
    Effect.gen(function*() {
      const rows = yield* Rows
      const [ours, theirs] = [yield* Fixtures.organization, yield* Fixtures.organization]
      const [row, before] = [yield* make(ours, text, at), yield* rows.list(table, ours)]
      const found = stored(row)
      assert.deepStrictEqual(yield* rows.find(table, ours, row[key]), Option.none())
      assert.deepStrictEqual(yield* rows.locate(table, row[key]), Option.none())
      yield* Fixtures.mustCommit(ours, table.insert(row))
      assert.deepStrictEqual(yield* rows.find(table, ours, row[key]), Option.some(found))
      assert.deepStrictEqual(yield* rows.findMany(table, ours, [row[key]]), [found])
      assert.deepStrictEqual(yield* rows.list(table, ours), sorted([...before, found]))
      assert.deepStrictEqual(
        yield* rows.locate(table, row[key]),
        Option.some({ organization_id: ours, row: found })
      )
      assert.deepStrictEqual(yield* rows.find(table, theirs, row[key]), Option.none())
      assert.deepStrictEqual(yield* rows.findMany(table, theirs, [row[key]]), [])
      assert.notDeepInclude(yield* rows.list(table, theirs), found)
    }), { arbitrary: { runs } })

  it.effect(`${name}: returns a row as it was last written, until it is removed`, () =>
    Effect.gen(function*() {
      const rows = yield* Rows
      const [ours, theirs] = [yield* Fixtures.organization, yield* Fixtures.organization]
      const row = yield* make(ours, "vip", afterNoon(1))
      yield* Fixtures.mustCommit(ours, table.insert(row))
      assert.strictEqual(yield* Fixtures.commitOutcome(ours, table.insert(row)), "Conflict")
      const values = yield* otherValues(each)
      const update = table.update(stored(row), values)
      assert.strictEqual(yield* Fixtures.commitOutcome(theirs, update), "Conflict")
      assert.strictEqual(yield* Fixtures.commitOutcome(ours, update), "committed")
      const changed = stored({ ...row, ...values }, 2)
      assert.deepStrictEqual(yield* rows.find(table, ours, row[key]), Option.some(changed))
      const isListed = while_null === undefined || valueOf(changed, while_null) === null
      const listed = yield* rows.list(table, ours)
      assert.deepStrictEqual(listed.filter((found) => found[key] === row[key]), isListed ? [changed] : [])
      const removal = { remove: [{ table: table.table, key: { [key]: String(row[key]) } }] }
      yield* Fixtures.mustCommit(theirs, removal)
      assert.deepStrictEqual(yield* rows.findMany(table, ours, [row[key]]), [changed])
      yield* Fixtures.mustCommit(ours, removal)
      assert.deepStrictEqual(yield* rows.find(table, ours, row[key]), Option.none())
    }))

  it.effect.prop(`${name}: lists rows in the order of the table, and finds those of some IDs`, {
    texts: Arbitrary.array(visibleHardText({ min: 3, max: 40 }), { maxLength: 8 })
  }, ({ texts }) =>
    Effect.gen(function*() {
      const rows = yield* Rows
      const [ours, theirs] = [yield* Fixtures.organization, yield* Fixtures.organization]
      const before = yield* rows.list(table, ours)
      const made = yield* Effect.forEach(
        Array.from(new Set(texts)),
        (text, index) => make(ours, text, afterNoon(index % 3))
      )
      const foreign = yield* make(theirs, "vip", afterNoon(1))
      yield* Fixtures.mustCommit(ours, ...made.map((row) => table.insert(row)))
      yield* Fixtures.mustCommit(theirs, table.insert(foreign))
      const found = made.map((row) => stored(row))
      assert.deepStrictEqual(yield* rows.list(table, ours), sorted([...before, ...found]))
      const some = found.filter((_, index) => index % 2 === 0)
      const ids = [...some, foreign, ...some].map((row) => row[key])
      assert.deepStrictEqual(yield* rows.findMany(table, ours, ids), sorted(some))
      assert.deepStrictEqual(yield* rows.findMany(table, ours, []), [])
      const lists = yield* Effect.all([ours, theirs, ours].map((owner) => rows.list(table, owner)), {
        concurrency: "unbounded"
      })
      assert.deepStrictEqual(lists, [
        yield* rows.list(table, ours),
        yield* rows.list(table, theirs),
        yield* rows.list(table, ours)
      ])
    }), { arbitrary: { runs } })
}

const uniqueTests = <Columns extends object, KeyColumn extends keyof Columns & string>(
  it: It,
  each: Case<Columns, KeyColumn>
) => {
  const { key, make, rows: table } = each
  const { name, unique } = table.table
  if (unique === null) return
  const text = "vip"

  /** A new row with the unique values of another. */
  const like = (organization_id: OrganizationId, first: Columns) =>
    Effect.map(make(organization_id, text, afterNoon(1)), (row): Columns => ({
      ...row,
      ...Object.fromEntries(unique.columns.map((column) => [column, valueOf(first, column)]))
    }))

  it.effect(`${name}: accepts one of many concurrent rows with the same ${unique.columns.join(" and ")}`, () =>
    Effect.gen(function*() {
      const rows = yield* Rows
      const [ours, theirs] = [yield* Fixtures.organization, yield* Fixtures.organization]
      const first = yield* make(ours, text, afterNoon(0))
      const same = yield* Effect.all(Array.from({ length: 8 }, () => like(ours, first)))
      const outcomes = yield* Effect.forEach(
        same,
        (row) => Fixtures.commitOutcome(ours, table.insert(row)),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(outcomes.toSorted(), Fixtures.oneCommitted(7))
      assert.lengthOf((yield* Effect.forEach(same, (row) => rows.locate(table, row[key]))).filter(Option.isSome), 1)
      assert.strictEqual(
        yield* Fixtures.commitOutcome(theirs, table.insert(yield* like(theirs, first))),
        unique.within === "organization" ? "committed" : "Conflict"
      )
    }))

  it.effect(`${name}: rejects a row whose ${unique.columns.join(" and ")} are taken, until they are free again`, () =>
    Effect.gen(function*() {
      const rows = yield* Rows
      const ours = yield* Fixtures.organization
      const [first, other] = [yield* make(ours, text, afterNoon(0)), yield* make(ours, "other", afterNoon(0))]
      const second = yield* like(ours, first)
      yield* Fixtures.mustCommit(ours, table.insert(first))
      const before = yield* rows.list(table, ours)
      assert.strictEqual(yield* Fixtures.commitOutcome(ours, table.insert(other), table.insert(second)), "Conflict")
      assert.deepStrictEqual(yield* rows.list(table, ours), before)
      yield* Fixtures.mustCommit(ours, table.update({ ...first, version: 1 }, yield* otherValues(each)))
      assert.strictEqual(yield* Fixtures.commitOutcome(ours, table.insert(other), table.insert(second)), "committed")
    }))
}

/** Returns the function that registers the tests of a table. */
const testsOf =
  <Columns extends object, KeyColumn extends keyof Columns & string>(each: Case<Columns, KeyColumn>) =>
  (it: It, options: Options) => {
    tableTests(it, options, each)
    uniqueTests(it, each)
  }

const digestOf = (id: string): string => id.replaceAll("-", "").padEnd(64, "0")

/** The tests of each table. */
const cases = {
  api_keys: testsOf({
    rows: ApiKeyRows,
    key: "id",
    make: Effect.fnUntraced(function*(organization_id, text, at) {
      const member = yield* Fixtures.member(organization_id)
      const id = yield* Fixtures.uuid
      const key: ApiKeyColumns = {
        id: ApiKeyId.make(id),
        name: text,
        scopes: ["tags:read", "messages:send"],
        created_by: member.id,
        created_at: at,
        expires_at: afterNoon(9),
        revoked_at: null,
        last_used_at: null,
        digest: digestOf(id)
      }
      return key
    }),
    set: { revoked_at: afterNoon(1), last_used_at: afterNoon(2) },
    setUnique: (id) => ({ digest: digestOf(id) })
  }),
  channel_accounts: testsOf({
    rows: ChannelAccountRows,
    key: "channel_id",
    make: (organization_id, text, at) =>
      Effect.map(Fixtures.channel(organization_id), ({ id, type }): ChannelAccountColumns => ({
        channel_id: id,
        channel_type: type,
        app_id: text,
        account_id: id,
        page_id: text,
        business_account_id: null,
        token_set_at: at,
        sealed_token: text
      })),
    set: { token_set_at: afterNoon(1), sealed_token: "v1.other" },
    setUnique: (account_id) => ({ account_id })
  }),
  channel_holds: testsOf({
    rows: ChannelHoldRows,
    key: "channel_id",
    make: (organization_id, _text, at) =>
      Effect.map(Fixtures.channel(organization_id), ({ id }): ChannelHold => ({
        channel_id: id,
        reason: "rate_limited",
        held_at: at,
        until: afterNoon(5),
        level: 3
      })),
    set: { reason: "channel_blocked", held_at: afterNoon(1), until: null, level: 0 }
  }),
  members: testsOf({
    rows: MemberRows,
    key: "id",
    make: (_, text, at) =>
      Effect.map(Fixtures.uuid, (id): MemberColumns => ({
        id: MemberId.make(id),
        name: text,
        email: text,
        email_key: text,
        role: "admin",
        created_at: at,
        left_at: null,
        logged_out_at: null
      })),
    set: { left_at: afterNoon(9) }
  }),
  channels: testsOf({
    rows: ChannelRows,
    key: "id",
    make: (_, text, at) =>
      Effect.map(Fixtures.uuid, (id): Channel => ({
        id: ChannelId.make(id),
        type: "photo_social",
        name: text,
        address: text,
        phone_messaging_business_account_id: null,
        connected_at: at
      })),
    set: { type: "page_messaging" }
  }),
  contact_fields: testsOf({
    rows: ContactFieldRows,
    key: "id",
    make: (_, text, at) =>
      Effect.map(Fixtures.uuid, (id): ContactField => ({
        id: ContactFieldId.make(id),
        key: `f_${id.replaceAll("-", "_")}`,
        name: text,
        type: "select",
        options: [text],
        created_at: at
      })),
    set: { key: "other", type: "text", options: null }
  }),
  tags: testsOf({
    rows: TagRows,
    key: "id",
    make: (_, text) => Effect.map(Fixtures.newTag(text), (tag) => ({ ...tag, name_key: text })),
    set: { name: "Old", name_key: "old", color: "blue" }
  }),
  webhooks: testsOf({
    rows: WebhookRows,
    key: "id",
    make: (_, text, at) =>
      Effect.map(Fixtures.uuid, (id): WebhookColumns => ({
        id: WebhookId.make(id),
        url: text,
        event_types: ["conversation.closed", "message.sent"],
        include_resource: true,
        status: "active",
        created_at: at,
        disabled_at: null,
        sealed_secret: text,
        ...healthy
      })),
    set: {
      include_resource: false,
      status: "disabled",
      disabled_at: afterNoon(1),
      consecutive_failures: 10,
      first_failure_at: afterNoon(1)
    }
  }),
  webhook_replays: testsOf({
    rows: WebhookReplayRows,
    key: "webhook_id",
    make: Effect.fnUntraced(function*(organization_id, _text, at) {
      const webhook = yield* Fixtures.webhook(organization_id)
      return {
        id: WebhookReplayId.make(yield* Fixtures.uuid),
        webhook_id: webhook.id,
        since: afterNoon(1),
        created_at: at,
        position_at: afterNoon(1),
        position_id: yield* Fixtures.uuid
      }
    }),
    set: { position_at: afterNoon(3), position_id: nil }
  })
}

export const portTests = (it: It, options: Options) => {
  it("has a case for every table that it reads", () => {
    const names = Object.values(tables).filter(isRead).map(({ name }) => name)
    assert.deepStrictEqual(Object.keys(cases).toSorted(), names.toSorted())
  })
  for (const register of Object.values(cases)) register(it, options)
}
