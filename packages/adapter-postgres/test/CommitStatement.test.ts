import { assert, expect, it } from "@effect/vitest"
import * as Fixtures from "@messaging-crm/conformance/Fixtures"
import * as Changes from "@messaging-crm/core/Changes"
import { unmatched } from "@messaging-crm/core/ContactMatches"
import { ConversationRows } from "@messaging-crm/core/Conversations"
import { AuditRecordId, ChannelId, ContactId, ConversationId, MemberId, OrganizationId } from "@messaging-crm/core/Ids"
import { start, StartConversation } from "@messaging-crm/core/Sends"
import { Effect, Option, Result, Schema } from "effect"
import type { CommitRequest } from "../src/work/Commit/Part.ts"
import { statementOf } from "../src/work/Commit/Statement.ts"

const uuid = (number: number) => `01990000-0000-7000-8000-${String(number).padStart(12, "0")}`

const member_id = MemberId.make(uuid(2))

const template = {
  id: "account.greeting",
  name: "greeting",
  language: "en",
  category: "UTILITY",
  status: "APPROVED",
  phone_messaging_business_account_id: "account",
  parameter_format: "POSITIONAL",
  components: [{ type: "BODY", text: "Hello", format: null, buttons: null }]
}

/** Decides to start a conversation with a new person. */
const started = () => {
  let next = 10
  const channel = {
    id: ChannelId.make(uuid(1)),
    type: "phone_messaging",
    name: "Support",
    address: "+4930123456",
    phone_messaging_business_account_id: "account",
    connected_at: Fixtures.noon
  } as const
  const input = Schema.decodeSync(StartConversation)({
    channel_id: channel.id,
    phone: "+4915112345678",
    template: { id: template.id, components: [] }
  })
  return Result.getOrThrow(start(
    { channel: Option.some(channel), template: Result.succeed(template), identities: [], contact: unmatched },
    member_id,
    input,
    { now: Fixtures.noon, uuid: () => uuid(next++) }
  ))
}

const organization_id = OrganizationId.make(uuid(4))

/** Starts a conversation, in a request with an idempotency key and an audit record. */
const startRequest = (): CommitRequest => {
  const { changes, result } = started()
  const audit = {
    id: AuditRecordId.make(uuid(3)),
    at: Fixtures.noon,
    operation: "sends.start",
    resource_id: result.id,
    key_id: null,
    member_id,
    request_id: "r-1"
  } as const
  return {
    organization_id,
    changes: { ...Changes.all(changes), response: Fixtures.idempotencyRecord, audit },
    trace: null
  }
}

/** Opens a conversation because of a message. Its contact is only touched. */
const updateRequest: CommitRequest = {
  organization_id,
  changes: Changes.all(
    ConversationRows.update({ id: ConversationId.make(uuid(5)), version: 1 }, { status: "open", closed_at: null }),
    Changes.touch({
      conversation_id: ConversationId.make(uuid(5)),
      conversation_version: 1,
      contact_id: ContactId.make(uuid(6)),
      at: Fixtures.noon,
      preview: "Hello",
      last_inbound_at: Fixtures.noon
    })
  ),
  trace: null
}

it.effect("a commit is one statement: `commit.sql` shows that of a start, and that of an update with activity", () =>
  Effect.gen(function*() {
    const [start, update] = [startRequest(), updateRequest].map((request) => {
      const { parameters, text } = statementOf([request], null)
      assert.lengthOf(new Set(text.match(/\$[0-9]+/g)), parameters.length)
      return text
    })
    const dump = `-- Two statements of commits: one part for each kind of change. Their sources are in src/work/Commit.
-- To write this file again: npm test -- packages/adapter-postgres/test/CommitStatement.test.ts --update

-- The start of a conversation with a new person.
${start};

-- The update of a conversation by a message, which also touches its contact.
${update};
`
    yield* Effect.promise(() => expect(dump).toMatchFileSnapshot("../commit.sql"))
  }))
