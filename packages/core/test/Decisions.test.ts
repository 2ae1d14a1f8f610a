/** Decisions, without any store: what was loaded goes in, the answer and the changes come out. */
import { assert, describe, it } from "@effect/vitest"
import * as Changes from "@messaging-crm/core/Changes"
import type { Channel } from "@messaging-crm/core/Channels"
import * as Contacts from "@messaging-crm/core/Contacts"
import * as Conversations from "@messaging-crm/core/Conversations"
import type { Fresh } from "@messaging-crm/core/Decide"
import * as Events from "@messaging-crm/core/Events"
import {
  ChannelId,
  ContactFieldId,
  ContactId,
  ConversationId,
  EventId,
  IdentityId,
  MediaId,
  MemberId,
  MessageId,
  OrganizationId,
  SendId,
  TagId,
  WebhookDeliveryId,
  WebhookId
} from "@messaging-crm/core/Ids"
import * as Inbound from "@messaging-crm/core/Inbound"
import { limits } from "@messaging-crm/core/Limits"
import { type MemberRow, MemberRows } from "@messaging-crm/core/Members"
import * as Messages from "@messaging-crm/core/Messages"
import { OrganizationRows } from "@messaging-crm/core/Organizations"
import { Phone } from "@messaging-crm/core/Phones"
import * as Sends from "@messaging-crm/core/Sends"
import * as Tags from "@messaging-crm/core/Tags"
import type { Template } from "@messaging-crm/core/Templates"
import * as WebhookDeliveries from "@messaging-crm/core/WebhookDeliveries"
import * as Webhooks from "@messaging-crm/core/Webhooks"
import { DateTime, Option, Result } from "effect"
import type { References } from "../src/contacts/ContactReferences.ts"

// ------------------------------------------------------------- fixtures

const noon = DateTime.makeUnsafe("2026-11-20T12:00:00.000Z")
const after = (milliseconds: number) => DateTime.add(noon, { milliseconds })

/** An id by its number; those that a decision makes begin at 100. */
const id = (n: number) => `0199f000-0000-7000-8000-${String(n).padStart(12, "0")}`

/** The time, and ids in the order in which they are asked for. */
const fresh = (now = after(9), first = 100): Fresh => {
  let next = first
  return { now, uuid: () => id(next++) }
}

const refusal = (result: Result.Result<unknown, { readonly _tag: string }>) =>
  Result.match(result, { onFailure: ({ _tag }) => _tag, onSuccess: () => null })

const phone = "+4915112345678"

const identity: Contacts.Identity = {
  id: IdentityId.make(id(4)),
  channel_type: "phone_messaging",
  external_id: phone,
  display_name: "Kim",
  username: null
}

const contact: Contacts.LoadedContact = {
  ...Contacts.newContact(ContactId.make(id(3)), { phone }, noon),
  first_name: "Kim",
  identities: [identity],
  version: 7
}

const channel: Channel = {
  id: ChannelId.make(id(2)),
  type: "phone_messaging",
  name: "Support",
  address: "+49301234",
  phone_messaging_business_account_id: "account",
  connected_at: noon
}

const conversation: Conversations.ConversationRow = {
  id: ConversationId.make(id(1)),
  channel_id: channel.id,
  channel_type: channel.type,
  contact_id: contact.id,
  first_name: "Kim",
  last_name: null,
  identity_id: identity.id,
  external_id: phone,
  display_name: "Kim",
  username: null,
  status: "open",
  close_category: null,
  assigned_user_id: null,
  agent_id: null,
  created_at: noon,
  opened_at: noon,
  closed_at: null,
  last_activity_at: noon,
  last_activity_preview: null,
  last_inbound_at: noon,
  version: 5,
  contact_version: 7
}

const ada: MemberRow = {
  id: MemberId.make(id(5)),
  name: "Ada",
  email: "ada@acme.example",
  role: "admin",
  created_at: noon,
  left_at: null,
  version: 3
}

const tag: Tags.Tag = { id: TagId.make(id(6)), name: "vip", color: "red" }

const field = {
  id: ContactFieldId.make(id(7)),
  key: "plan",
  name: "Plan",
  type: "text",
  options: null,
  created_at: noon
} as const

const nothing: References = { owners: new Map(), fields: new Map(), tags: [] }
const references: References = {
  owners: new Map([[ada.id, ada]]),
  fields: new Map([[field.id, field]]),
  tags: [tag]
}

// ------------------------------------------------------------- contacts

describe("a contact", () => {
  it("is created with what is given, and rests on its owner", () => {
    const { answer, changes } = Result.getOrThrow(Contacts.create(references, {
      first_name: "Kim",
      company: "Acme",
      owner_user_id: ada.id,
      custom_values: { [field.id]: "gold" },
      tag_ids: [tag.id]
    }, fresh()))
    const expected: Contacts.Contact = {
      ...Contacts.newContact(ContactId.make(id(100)), { phone: null }, after(9)),
      first_name: "Kim",
      company: "Acme",
      owner_user_id: ada.id,
      custom_values: { [field.id]: "gold" },
      tags: [tag]
    }
    assert.deepStrictEqual(answer, expected)
    assert.deepStrictEqual(
      changes,
      Changes.all(
        Contacts.ContactRows.insert({ ...expected, search_text: Contacts.searchText(expected) }),
        MemberRows.expect(ada)
      )
    )
  })

  it("is not created without a name, nor with what the organization does not have", () => {
    const create = (input: Contacts.CreateContact) => refusal(Contacts.create(nothing, input, fresh()))
    assert.strictEqual(create({ company: "Acme" }), "ContactUnnamed")
    assert.strictEqual(create({ first_name: "Kim", owner_user_id: ada.id }), "ReferenceUnknown")
    assert.strictEqual(create({ first_name: "Kim", tag_ids: [tag.id] }), "ReferenceUnknown")
    assert.strictEqual(create({ first_name: "Kim", custom_values: { [field.id]: "x" } }), "ReferenceUnknown")
  })

  const update = (input: Contacts.UpdateContact, now = after(9)) =>
    Contacts.update(
      Option.some(contact),
      input.owner_user_id ? references : { ...references, owners: new Map() },
      input,
      fresh(now)
    )

  it("is updated by the given columns only, at the version that was loaded", () => {
    const row = { id: contact.id, version: 7 }
    const { answer, changes } = Result.getOrThrow(update({ city: "Rome" }))
    const { version: _version, ...before } = contact
    assert.deepStrictEqual(answer, { ...before, city: "Rome", updated_at: after(9) })
    assert.deepStrictEqual(changes, Contacts.ContactRows.update(row, { city: "Rome", updated_at: after(9) }))
    const renamed = { ...before, first_name: "Lee", updated_at: after(9) }
    assert.deepStrictEqual(
      Result.getOrThrow(update({ first_name: "Lee" })).changes,
      Contacts.ContactRows.update(row, {
        first_name: "Lee",
        updated_at: after(9),
        search_text: Contacts.searchText(renamed)
      })
    )
    assert.deepStrictEqual(
      Result.getOrThrow(update({ owner_user_id: ada.id, tag_ids: [tag.id] })).changes,
      Changes.all(
        Contacts.ContactRows.update(row, { owner_user_id: ada.id, tags: [tag], updated_at: after(9) }),
        MemberRows.expect(ada)
      )
    )
    assert.deepStrictEqual(
      Result.getOrThrow(update({ tag_ids: null }, after(-9))).changes,
      Contacts.ContactRows.update(row, { tags: [], updated_at: noon })
    )
  })

  it("has custom values that merge by key", () => {
    const found = Option.some({ ...contact, custom_values: { [field.id]: "gold", other: "1" } })
    const merged = (custom_values: Contacts.UpdateContact["custom_values"] & {}) =>
      Result.getOrThrow(Contacts.update(found, references, { custom_values }, fresh())).answer.custom_values
    assert.deepStrictEqual(merged({ [field.id]: "silver" }), { [field.id]: "silver", other: "1" })
    assert.deepStrictEqual(merged({ [field.id]: null }), { other: "1" })
  })

  it("does not change when nothing is given, and is not found when it is not there", () => {
    assert.deepStrictEqual(Result.getOrThrow(update({})).changes, Changes.none)
    assert.strictEqual(refusal(Contacts.update(Option.none(), nothing, {}, fresh())), "ContactNotFound")
    // What is wrong with the request comes first.
    assert.strictEqual(
      refusal(Contacts.update(Option.none(), nothing, { tag_ids: [tag.id] }, fresh())),
      "ReferenceUnknown"
    )
  })

  it("takes a note after a blank line, up to the limit", () => {
    const add = (notes: string | null, text: string) =>
      Contacts.addNote(Option.some({ ...contact, notes }), { text }, fresh())
    assert.deepStrictEqual(
      Result.getOrThrow(add(null, "Called")).changes,
      Contacts.ContactRows.update(contact, { notes: "Called", updated_at: after(9) })
    )
    assert.strictEqual(Result.getOrThrow(add("Called", "Wrote")).answer.notes, "Called\n\nWrote")
    const full = "\u{1F600}".repeat(limits.notes_chars_max - 3)
    assert.isNull(refusal(add(full, "x")))
    assert.strictEqual(refusal(add(full, "xx")), "NotesTooLong")
    assert.strictEqual(refusal(Contacts.addNote(Option.none(), { text: "x" }, fresh())), "ContactNotFound")
  })
})

describe("a person", () => {
  const person: Contacts.Person = {
    channel_type: "phone_messaging",
    external_id: phone,
    aliases: [],
    phone,
    display_name: null,
    username: null
  }
  const known: Contacts.KnownIdentity = {
    name: phone,
    identity: { ...identity, contact_id: contact.id, version: 2 },
    contact
  }
  const find = (
    given: Partial<Contacts.Person>,
    found: ReadonlyArray<Contacts.KnownIdentity>,
    withPhone: Option.Option<Contacts.LoadedContact> = Option.none()
  ) => Contacts.findOrCreateByIdentity({ ...person, ...given }, found, withPhone, fresh())
  const renamed = (set: Partial<Pick<Contacts.Identity, "display_name" | "external_id" | "username">>) =>
    Changes.all(
      Contacts.IdentityRows.update(known.identity, set),
      Contacts.ContactRows.update(contact, { identities: [{ ...identity, ...set }] })
    )
  const who = { identity_id: identity.id, contact_id: contact.id }

  it("whom a name leads to is found, and nothing is written that is not new", () => {
    assert.deepStrictEqual(find({}, [known]), { answer: who, changes: Changes.none })
    assert.deepStrictEqual(find({ display_name: "Kim" }, [known]), { answer: who, changes: Changes.none })
  })

  it("has another display name, and another alias, once they are given", () => {
    assert.deepStrictEqual(find({ display_name: "Kimberley", username: "kim" }, [known]), {
      answer: who,
      changes: renamed({ display_name: "Kimberley", username: "kim" })
    })
    assert.deepStrictEqual(find({ external_id: "own", aliases: [phone, "new", "new"] }, [known]), {
      answer: who,
      changes: Changes.aliases(
        { channel_type: "phone_messaging", name: "own", identity_id: identity.id },
        { channel_type: "phone_messaging", name: "new", identity_id: identity.id }
      )
    })
  })

  const made: Contacts.Identity = { ...identity, id: IdentityId.make(id(100)), display_name: null }
  const names = (...given: ReadonlyArray<string>) =>
    Changes.all(
      ...given.map((name) =>
        Contacts.IdentityNameRows.insert({ channel_type: "phone_messaging", name, identity_id: made.id })
      )
    )

  it("whom nobody knows becomes a contact with an identity under every name", () => {
    const contact_id = ContactId.make(id(101))
    assert.deepStrictEqual(find({ aliases: ["own"] }, []), {
      answer: { identity_id: made.id, contact_id },
      changes: Changes.all(
        Contacts.insert({ ...Contacts.newContact(contact_id, { phone }, after(9)), identities: [made] }),
        Contacts.IdentityRows.insert({ ...made, contact_id }),
        names(phone, "own")
      )
    })
  })

  it("becomes an identity of the contact with their number", () => {
    assert.deepStrictEqual(find({}, [], Option.some(contact)), {
      answer: { identity_id: made.id, contact_id: contact.id },
      changes: Changes.all(
        Contacts.ContactRows.update(contact, { identities: [identity, made] }),
        Contacts.IdentityRows.insert({ ...made, contact_id: contact.id }),
        names(phone)
      )
    })
  })

  const moved = "+4915187654321"
  const change = (
    found: ReadonlyArray<Contacts.KnownIdentity>,
    given: Partial<Contacts.Person> = {},
    loaded: Option.Option<Contacts.LoadedContact> = Option.some(contact)
  ) => Contacts.changeIdentity(phone, { ...person, external_id: moved, phone: moved, ...given }, found, loaded, fresh())
  const name = (value: string) => ({ channel_type: "phone_messaging", name: value, identity_id: identity.id } as const)

  it("who has another number is known by it, and no longer by the former", () => {
    const after_move = { ...contact, primary_phone: moved, updated_at: after(9) }
    assert.deepStrictEqual(
      change([known], { display_name: "Kimberley" }),
      Changes.all(
        Contacts.IdentityNameRows.remove(name(phone)),
        Contacts.IdentityNameRows.insert(name(moved)),
        Contacts.IdentityRows.update(known.identity, { display_name: "Kimberley", external_id: moved }),
        Contacts.ContactRows.update(contact, {
          identities: [{ ...identity, display_name: "Kimberley", external_id: moved }],
          primary_phone: moved,
          updated_at: after(9),
          search_text: Contacts.searchText(after_move)
        })
      )
    )
  })

  it("whose former name was an alias keeps the external id, and a contact another number", () => {
    const loaded = { ...contact, primary_phone: null }
    const aliased = { ...known, identity: { ...known.identity, external_id: "own" } }
    const changes = change([aliased], {}, Option.some(loaded))
    assert.deepStrictEqual(
      changes,
      Changes.all(
        Contacts.IdentityNameRows.remove(name(phone)),
        Contacts.IdentityNameRows.insert(name(moved)),
        Contacts.IdentityRows.update(aliased.identity, {}),
        Contacts.ContactRows.update(loaded, { identities: [identity], updated_at: after(9) })
      )
    )
  })

  it("changes nothing when nobody is known by the former name, or somebody else by the other", () => {
    const other = { ...known.identity, id: IdentityId.make(id(44)) }
    assert.deepStrictEqual(change([]), Changes.none)
    assert.deepStrictEqual(change([{ ...known, name: moved }]), Changes.none)
    assert.deepStrictEqual(change([known], {}, Option.none()), Changes.none)
    assert.deepStrictEqual(change([known, { ...known, name: moved, identity: other }]), Changes.none)
    // Both names lead to the same person: only the former goes.
    const both = change([known, { ...known, name: moved }])
    assert.isUndefined(both.insert)
    assert.lengthOf(both.remove ?? [], 1)
  })
})

// -------------------------------------------------------- conversations

describe("a conversation", () => {
  const assign = (
    input: Conversations.AssignConversation,
    member: MemberRow | null = ada,
    row: Conversations.ConversationRow = conversation
  ) =>
    Conversations.assign(
      { conversation: Option.some(row), member: Option.fromNullishOr(member) },
      input,
      fresh()
    )
  const owner = (owner_user_id: MemberId | null) =>
    Contacts.ContactRows.update({ id: contact.id, version: 7 }, { owner_user_id, updated_at: after(9) })

  it("is assigned with its contact, and rests on the member", () => {
    const assigned_user_id = ada.id
    const { answer, changes } = Result.getOrThrow(assign({ assigned_user_id }))
    assert.strictEqual(answer.assigned_user_id, ada.id)
    assert.deepStrictEqual(
      changes,
      Changes.all(
        Conversations.ConversationRows.update(conversation, { assigned_user_id }),
        owner(ada.id),
        MemberRows.expect(ada)
      )
    )
    const alone = Result.getOrThrow(assign({ assigned_user_id, sync_contact_owner: false }))
    assert.deepStrictEqual(
      alone.changes,
      Changes.all(Conversations.ConversationRows.update(conversation, { assigned_user_id }), MemberRows.expect(ada))
    )
  })

  it("is assigned to nobody, and not to who left; an assignment that stands is not written", () => {
    const kept = assign({ assigned_user_id: null, sync_contact_owner: false }, null)
    assert.deepStrictEqual(Result.getOrThrow(kept).changes, Changes.none)
    const assigned = { ...conversation, assigned_user_id: ada.id }
    assert.deepStrictEqual(
      Result.getOrThrow(assign({ assigned_user_id: null }, null, assigned)).changes,
      Changes.all(Conversations.ConversationRows.update(assigned, { assigned_user_id: null }), owner(null))
    )
    assert.strictEqual(refusal(assign({ assigned_user_id: ada.id }, { ...ada, left_at: noon })), "ReferenceUnknown")
    assert.strictEqual(refusal(assign({ assigned_user_id: ada.id }, null)), "ReferenceUnknown")
    const nowhere = { conversation: Option.none(), member: Option.none() }
    assert.strictEqual(
      refusal(Conversations.assign(nowhere, { assigned_user_id: null }, fresh())),
      "ConversationNotFound"
    )
  })

  it("is closed once, with an event", () => {
    const closed = { status: "closed", close_category: "spam", closed_at: after(9) } as const
    const { answer, changes } = Result.getOrThrow(
      Conversations.close(Option.some(conversation), { category: "spam" }, fresh())
    )
    assert.deepInclude(answer, closed)
    assert.deepStrictEqual(
      changes,
      Changes.all(
        Conversations.ConversationRows.update(conversation, closed),
        Changes.raise(Events.make("conversation.closed", { conversation_id: conversation.id }, fresh(after(9), 100)))
      )
    )
    const again = Conversations.close(Option.some({ ...conversation, ...closed }), { category: "other" }, fresh())
    assert.deepStrictEqual(Result.getOrThrow(again).changes, Changes.none)
    assert.strictEqual(Result.getOrThrow(again).answer.close_category, "spam")
    assert.strictEqual(refusal(Conversations.close(Option.none(), {}, fresh())), "ConversationNotFound")
  })

  it("is reopened once", () => {
    const row = { ...conversation, status: "closed", close_category: "spam", closed_at: after(1) } as const
    const opened = { status: "open", close_category: null, opened_at: after(9), closed_at: null } as const
    assert.deepStrictEqual(
      Result.getOrThrow(Conversations.reopen(Option.some(row), fresh())).changes,
      Conversations.ConversationRows.update(row, opened)
    )
    assert.deepStrictEqual(
      Result.getOrThrow(Conversations.reopen(Option.some(conversation), fresh())).changes,
      Changes.none
    )
    assert.strictEqual(refusal(Conversations.reopen(Option.none(), fresh())), "ConversationNotFound")
  })

  it("is found open, opened, or made", () => {
    const who = { contact_id: contact.id, identity_id: identity.id }
    const open = (found: Parameters<typeof Conversations.open>[2]) => Conversations.open(channel, who, found, fresh())
    const { version } = conversation
    const closed = { id: conversation.id, status: "closed", version } as const
    assert.deepStrictEqual(open(conversation), { answer: conversation.id, changes: Changes.none })
    assert.deepStrictEqual(open(closed), {
      answer: conversation.id,
      changes: Conversations.ConversationRows.update(closed, {
        status: "open",
        close_category: null,
        opened_at: after(9),
        closed_at: null
      })
    })
    const made = ConversationId.make(id(100))
    assert.deepStrictEqual(open(null), {
      answer: made,
      changes: Conversations.ConversationRows.insert({
        id: made,
        channel_id: channel.id,
        ...who,
        status: "open",
        close_category: null,
        assigned_user_id: null,
        agent_id: null,
        created_at: after(9),
        opened_at: after(9),
        closed_at: null,
        last_activity_at: after(9),
        last_activity_preview: null,
        last_inbound_at: null
      })
    })
  })
})

// ---------------------------------------------------------------- sends

const row: Sends.SendRow = {
  id: SendId.make(id(10)),
  conversation_id: conversation.id,
  status: "sending",
  message_id: null,
  failure_reason: null,
  created_at: noon,
  channel_id: channel.id,
  recipient: phone,
  member_id: ada.id,
  content: { type: "text", text: "Hello" },
  first_attempt_at: noon,
  may_be_sent: false,
  version: 2
}

const message: Messages.MessageRow = {
  id: MessageId.make(id(11)),
  conversation_id: conversation.id,
  direction: "outbound",
  type: "text",
  text: "Hello",
  sender: { type: "member", name: "Ada" },
  status: "sent",
  media: null,
  provider_message_id: "p",
  created_at: noon,
  sent_at: noon,
  delivered_at: null,
  read_at: null,
  failed_at: null,
  edited_at: null,
  deleted_at: null,
  version: 4
}

const providerMessage = (fields: Partial<Messages.ProviderMessage> = {}): Messages.ProviderMessage => ({
  channel_id: channel.id,
  provider_message_id: "p",
  early_updates: [],
  version: 6,
  message: Option.some({ ...message, contact_id: contact.id }),
  ...fields
})

const early = (...early_updates: ReadonlyArray<Messages.MessageUpdate>) =>
  Option.some(providerMessage({ early_updates, message: Option.none() }))

describe("a send", () => {
  const template: Template = {
    id: "greeting",
    name: "greeting",
    language: "en",
    category: "UTILITY",
    status: "APPROVED",
    phone_messaging_business_account_id: "account",
    parameter_format: "POSITIONAL",
    components: [{ type: "BODY", text: "Hello {{1}}", format: null, buttons: null }]
  }
  const components = [{ type: "body" as const, parameters: [{ type: "text" as const, text: "Kim" }] }]
  const content = {
    type: "template",
    template: { id: "greeting", name: "greeting", language: "en", components },
    text: "Hello Kim"
  } as const
  const queued = (send: number, to: Partial<Sends.SendColumns> = {}): Sends.SendColumns => ({
    id: SendId.make(id(send)),
    conversation_id: conversation.id,
    status: "queued",
    message_id: null,
    failure_reason: null,
    created_at: after(9),
    channel_id: channel.id,
    recipient: phone,
    member_id: ada.id,
    content: { type: "text", text: "Hello" },
    first_attempt_at: null,
    may_be_sent: false,
    ...to
  })
  const enqueued = ({ conversation_id: lane, id: ref }: Sends.SendColumns) =>
    Changes.enqueue({ kind: "send", lane, ref, due_at: after(9) })

  const send = (fields: Partial<Parameters<typeof Sends.send>[0]>, input: Sends.SendMessage) =>
    Sends.send(
      {
        channel: Option.some(channel),
        conversation: Option.some(conversation),
        template: Result.succeed(template),
        ...fields
      },
      ada.id,
      input,
      fresh()
    )
  const text = { type: "text", text: "Hello" } as const

  it("is queued in its conversation's lane, a text inside the reply window", () => {
    const { answer, changes } = Result.getOrThrow(send({}, text))
    assert.deepStrictEqual(answer, Sends.toSend(queued(100)))
    assert.deepStrictEqual(changes, Changes.all(Sends.SendRows.insert(queued(100)), enqueued(queued(100))))
    for (const last_inbound_at of [null, DateTime.subtract(after(9), { hours: 24 })]) {
      const silent = Option.some({ ...conversation, last_inbound_at })
      assert.strictEqual(refusal(send({ conversation: silent }, text)), "ReplyWindowClosed")
      assert.isNull(
        refusal(send({ conversation: silent }, { type: "template", template: { id: "greeting", components } }))
      )
    }
    assert.strictEqual(refusal(send({ conversation: Option.none() }, text)), "ConversationNotFound")
  })

  it("is queued as a template, on a phone-messaging channel", () => {
    const input = { type: "template", template: { id: "greeting", components } } as const
    const expected = queued(100, { content })
    assert.deepStrictEqual(
      Result.getOrThrow(send({}, input)).changes,
      Changes.all(Sends.SendRows.insert(expected), enqueued(expected))
    )
    const social = Option.some({ ...channel, type: "photo_social" } as const)
    assert.strictEqual(refusal(send({ channel: social }, input)), "ChannelTypeUnsuited")
    const paused = Result.succeed({ ...template, status: "PAUSED" })
    assert.strictEqual(refusal(send({ template: paused }, input)), "TemplateNotApproved")
    const bare = { type: "template", template: { id: "greeting", components: [] } } as const
    assert.strictEqual(refusal(send({}, bare)), "TemplateValuesMismatch")
  })

  const start = (fields: Partial<Parameters<typeof Sends.start>[0]>) =>
    Sends.start(
      {
        channel: Option.some(channel),
        template: Result.succeed(template),
        threads: [],
        withPhone: Option.none(),
        ...fields
      },
      ada.id,
      { channel_id: channel.id, phone: Phone.make(phone), template: { id: "greeting", components } },
      fresh()
    )

  it("starts a conversation with who is known, or makes both", () => {
    const known = { name: phone, identity: { ...identity, contact_id: contact.id, version: 2 }, contact, conversation }
    const there = queued(100, { content })
    assert.deepStrictEqual(
      Result.getOrThrow(start({ threads: [known] })).changes,
      Changes.all(Sends.SendRows.insert(there), enqueued(there))
    )
    const { answer, changes } = Result.getOrThrow(start({}))
    const conversation_id = ConversationId.make(id(102))
    const made = queued(103, { content, conversation_id })
    const person = {
      channel_type: "phone_messaging",
      external_id: phone,
      aliases: [],
      phone,
      display_name: null,
      username: null
    } as const
    const ids = fresh()
    const who = Contacts.findOrCreateByIdentity(person, [], Option.none(), ids)
    assert.deepStrictEqual(answer, Sends.toSend(made))
    assert.deepStrictEqual(
      changes,
      Changes.all(
        who.changes,
        Conversations.open(channel, who.answer, null, ids).changes,
        Sends.SendRows.insert(made),
        enqueued(made)
      )
    )
    assert.strictEqual(refusal(start({ channel: Option.none() })), "ReferenceUnknown")
  })

  const complete = (
    fields: Partial<Sends.CompletionLoaded> = {},
    updates: ReadonlyArray<Messages.MessageUpdate> = [],
    recipient_aliases: ReadonlyArray<string> = []
  ) =>
    Sends.complete(
      {
        send: Option.some(row),
        conversation: Option.some(conversation),
        member: Option.some(ada),
        provider_message: Option.none(),
        ...fields
      },
      { provider_message_id: "p", recipient_aliases },
      updates,
      fresh()
    )
  const { version: _version, ...columns } = message
  const completed: Messages.Message = {
    ...columns,
    id: MessageId.make(id(100)),
    created_at: after(9),
    sent_at: after(9)
  }
  const data = { conversation_id: conversation.id, message_id: completed.id }
  const alias = { channel_type: "phone_messaging", name: "own", identity_id: identity.id } as const

  it("becomes a message, with the names that the provider gave and an event", () => {
    assert.deepStrictEqual(
      complete({}, [], ["own"]),
      Changes.all(
        Changes.aliases(alias),
        Messages.insert(channel.id, contact.id, Option.none(), completed),
        Sends.SendRows.update(row, { status: "sent", message_id: completed.id }),
        Changes.raise(Events.make("message.sent", data, fresh(after(9), 101)))
      )
    )
  })

  it("becomes a message that is further already, when updates came before", () => {
    const found = early({ status: "delivered", at: after(1) })
    const read: Messages.Message = { ...completed, status: "read", delivered_at: after(1), read_at: after(2) }
    assert.deepStrictEqual(
      complete({ provider_message: found }, [{ status: "read", at: after(2) }]),
      Changes.all(
        Messages.insert(channel.id, contact.id, found, read),
        Sends.SendRows.update(row, { status: "sent", message_id: completed.id }),
        Changes.raise(Events.make("message.sent", data, fresh(after(9), 101))),
        Changes.raise(Events.make("message.updated", { ...data, status: "read" }, fresh(after(9), 102)))
      )
    )
  })

  it("that failed in doubt stays failed, and its message is inserted", () => {
    const failed = { ...row, status: "failed", failure_reason: "outcome_unknown" } as const
    assert.deepStrictEqual(
      complete({ send: Option.some(failed) }),
      Changes.all(
        Messages.insert(channel.id, contact.id, Option.none(), completed),
        Changes.raise(Events.make("message.sent", data, fresh(after(9), 101)))
      )
    )
    const rejected = { ...failed, failure_reason: "provider_rejected" } as const
    assert.deepStrictEqual(complete({ send: Option.some(rejected) }), Changes.none)
    const sent = { ...row, status: "sent", message_id: message.id } as const
    assert.deepStrictEqual(complete({ send: Option.some(sent) }), Changes.none)
    assert.deepStrictEqual(complete({ send: Option.none() }), Changes.none)
  })

  it("whose message id is taken is linked to that message in its own conversation, and fails elsewhere", () => {
    const there = Option.some(providerMessage())
    assert.deepStrictEqual(
      complete({ provider_message: there }),
      Sends.SendRows.update(row, { status: "sent", message_id: message.id })
    )
    const elsewhere = [
      { ...message, contact_id: contact.id, conversation_id: ConversationId.make(id(99)) },
      { ...message, contact_id: contact.id, direction: "inbound", status: "received" }
    ] as const
    for (const other of elsewhere) {
      const provider_message = Option.some(providerMessage({ message: Option.some(other) }))
      assert.deepStrictEqual(
        complete({ provider_message }, [], ["own"]),
        Changes.all(
          Changes.aliases(alias),
          Sends.SendRows.update(row, { status: "failed", failure_reason: "provider_rejected" }),
          Changes.raise(Events.make(
            "send.failed",
            { conversation_id: conversation.id, send_id: row.id, failure_reason: "provider_rejected" },
            fresh(after(9), 100)
          ))
        )
      )
    }
    const failed = { ...row, status: "failed", failure_reason: "outcome_unknown" } as const
    assert.deepStrictEqual(complete({ send: Option.some(failed), provider_message: there }), Changes.none)
  })
})

// -------------------------------------------------------------- inbound

describe("an inbound event", () => {
  const of = { channel_id: channel.id, provider_message_id: "p" }
  const found = Option.some(providerMessage())
  const data = { conversation_id: conversation.id, message_id: message.id }

  it("updates its message, once, with an event", () => {
    const read = { status: "read", at: after(3) } as const
    const set = { status: "read", read_at: after(3) } as const
    const { version: _version, ...before } = message
    assert.deepStrictEqual(
      Inbound.update(found, of, read, fresh()),
      Changes.all(
        Messages.revise(contact.id, message, { ...before, ...set }),
        Changes.raise(Events.make("message.updated", { ...data, status: "read" }, fresh(after(9), 100)))
      )
    )
    const again = providerMessage({ message: Option.some({ ...message, ...set, contact_id: contact.id }) })
    assert.deepStrictEqual(Inbound.update(Option.some(again), of, read, fresh()), Changes.none)
    // Its status is as it was, so nobody is interested.
    const late = Inbound.update(Option.some(again), of, { status: "delivered", at: after(2) }, fresh())
    assert.isUndefined(late.raise)
    assert.deepInclude(late.update?.[0]?.set, { delivered_at: after(2), status: "read" })
  })

  it("of a time to come counts as of now", () => {
    const { update: [written] = [] } = Inbound.update(found, of, { status: "read", at: after(99) }, fresh())
    assert.deepInclude(written?.set, { read_at: after(9) })
    assert.deepStrictEqual(
      Inbound.update(Option.none(), of, { status: "deleted", at: after(99) }, fresh()),
      Messages.ProviderMessageRows.insert({
        ...of,
        conversation_id: null,
        message_id: null,
        early_updates: [{ status: "deleted", at: after(9) }],
        created_at: after(9)
      })
    )
  })

  it("that comes before its message is kept, once", () => {
    const [read, edited] = [
      { status: "read", at: after(3) } as const,
      { status: "edited", text: "Hi", at: after(4) } as const
    ]
    assert.deepStrictEqual(
      Inbound.update(early(read), of, edited, fresh()),
      Messages.ProviderMessageRows.update({ ...of, version: 6 }, { early_updates: [read, edited] })
    )
    assert.deepStrictEqual(Inbound.update(early(read, edited), of, read, fresh()), Changes.none)
  })

  it("that takes a message back erases it with its file, and its preview", () => {
    const media = {
      id: MediaId.make(id(20)),
      kind: "image",
      mime_type: "image/png",
      filename: null,
      byte_size: 1,
      transcript: null
    } as const
    const with_file = { ...message, text: "Look", media, contact_id: contact.id }
    const changes = Inbound.update(
      Option.some(providerMessage({ message: Option.some(with_file) })),
      of,
      { status: "deleted", at: after(3) },
      fresh()
    )
    const set = { text: null, media: null, deleted_at: after(3) }
    assert.deepInclude(changes.update?.[0]?.set, set)
    assert.deepStrictEqual(changes.remove?.map(({ key, table }) => [table.name, key]), [["media", { id: media.id }]])
    assert.deepStrictEqual(
      changes.touch,
      {
        conversation_id: conversation.id,
        contact_id: contact.id,
        at: noon,
        preview: "[deleted]",
        last_inbound_at: null
      }
    )
  })

  const event: Inbound.ProviderMessageReceived = {
    event: "message_received",
    ...of,
    from: { external_id: phone, display_name: "Kim", username: null },
    type: "text",
    text: "Hi",
    media: null,
    sent_at: after(3)
  }
  const known = { name: phone, identity: { ...identity, contact_id: contact.id, version: 2 }, contact, conversation }
  const receive = (
    fields: Partial<Parameters<typeof Inbound.messageReceived>[0]> = {},
    given: Partial<Inbound.ProviderMessageReceived> = {}
  ) =>
    Inbound.messageReceived(
      { found: Option.none(), threads: [known], withPhone: Option.none(), ...fields },
      channel,
      { ...event, ...given },
      fresh()
    )
  const { version: _version, ...columns } = message
  const received: Messages.Message = {
    ...columns,
    id: MessageId.make(id(100)),
    direction: "inbound",
    text: "Hi",
    sender: { type: "contact", name: "Kim" },
    status: "received",
    created_at: after(9),
    sent_at: after(3)
  }
  const news = (event: number) =>
    Changes.raise(
      Events.make(
        "message.received",
        { conversation_id: conversation.id, message_id: received.id },
        fresh(after(9), event)
      )
    )

  it("puts a message into its sender's conversation, and a message that is there changes nothing", () => {
    assert.deepStrictEqual(
      receive(),
      Changes.all(Messages.insert(channel.id, contact.id, Option.none(), received), news(101))
    )
    assert.deepStrictEqual(receive({ found }), Changes.none)
    assert.deepStrictEqual(receive({}, { sent_at: after(99) }).touch?.last_inbound_at, after(9))
  })

  it("opens the sender's conversation, and makes one of a stranger", () => {
    const closed = { ...known, conversation: { id: conversation.id, status: "closed" as const, version: 5 } }
    assert.deepStrictEqual(
      receive({ threads: [closed] }),
      Changes.all(
        Conversations.ConversationRows.update(conversation, {
          status: "open",
          close_category: null,
          opened_at: after(9),
          closed_at: null
        }),
        Messages.insert(channel.id, contact.id, Option.none(), received),
        news(101)
      )
    )
    const tables = receive({ threads: [] }).insert?.map(({ table }) => table.name)
    assert.deepStrictEqual(tables, [
      "contacts",
      "identities",
      "identity_names",
      "conversations",
      "messages",
      "provider_messages"
    ])
  })

  it("brings a message that was edited before it came as it is now, and keeps no file of one that was taken back", () => {
    const edited = early({ status: "edited", text: "Hello", at: after(4) })
    assert.deepStrictEqual(
      receive({ found: edited }),
      Changes.all(
        Messages.insert(channel.id, contact.id, edited, { ...received, text: "Hello", edited_at: after(4) }),
        news(101)
      )
    )
    const media = { kind: "image", mime_type: null, filename: null, transcript: null, bytes: Uint8Array.of(1) } as const
    const inserts = ({ insert = [] }: Changes.Changes) => insert.map(({ table }) => table.name)
    assert.include(inserts(receive({}, { media })), "media")
    const deleted = early({ status: "deleted", at: after(4) })
    assert.deepStrictEqual(inserts(receive({ found: deleted }, { media })), ["messages"])
  })

  const status: Inbound.MessageStatusReported = {
    event: "message_status_reported",
    ...of,
    reference: row.id,
    status: "delivered",
    at: after(99)
  }
  const completion = (fields: Partial<Sends.CompletionLoaded> = {}): Sends.CompletionLoaded => ({
    send: Option.some({ ...row, status: "unknown" }),
    conversation: Option.some(conversation),
    member: Option.some(ada),
    provider_message: Option.none(),
    ...fields
  })

  it("with a reference completes the send whose answer was lost", () => {
    const loaded = completion()
    assert.deepStrictEqual(
      Inbound.statusReported({ found: Option.none(), completion: loaded }, status, fresh()),
      Sends.complete(loaded, { provider_message_id: "p" }, [{ status: "delivered", at: after(9) }], fresh())
    )
  })

  it("is kept for its message when its reference completes nothing, and updates one that is there", () => {
    const ended = completion({ send: Option.some({ ...row, status: "failed", failure_reason: "rate_limited" }) })
    const kept = Inbound.update(Option.none(), of, { status: "delivered", at: after(99) }, fresh())
    for (const loaded of [ended, null, completion({ send: Option.none() })]) {
      assert.deepStrictEqual(
        Inbound.statusReported({ found: Option.none(), completion: loaded }, status, fresh()),
        kept
      )
    }
    assert.deepStrictEqual(
      Inbound.statusReported({ found, completion: null }, status, fresh()),
      Inbound.update(found, of, { status: "delivered", at: after(99) }, fresh())
    )
  })
})

// ------------------------------------------------------------- webhooks

const webhook: Webhooks.WebhookRow = {
  id: WebhookId.make(id(30)),
  url: "https://shop.example/crm",
  event_types: ["message.sent"],
  status: "active",
  created_at: noon,
  disabled_at: null,
  sealed_secret: "sealed",
  consecutive_failures: 3,
  first_failure_at: noon,
  version: 8
}

describe("a webhook", () => {
  it("is disabled once, with its newest deliveries, and nothing holds the others up", () => {
    const health = { consecutive_failures: 4, first_failure_at: noon }
    const set = { status: "disabled", disabled_at: after(9), ...health } as const
    const { answer, changes } = Webhooks.disable(webhook, health, after(9))
    assert.deepStrictEqual(answer, Webhooks.toWebhook({ ...webhook, ...set }))
    assert.deepStrictEqual(
      changes,
      Changes.all(
        Webhooks.WebhookRows.update(webhook, set),
        { abandon: [{ webhook_id: webhook.id, limit: Webhooks.abandoned_max }] },
        Changes.throttle({ kind: "webhook_delivery", lane: webhook.id, until: null, cap: 8 })
      )
    )
    const disabled = { ...webhook, ...set }
    assert.deepStrictEqual(Webhooks.disable(disabled, health, after(99)), {
      answer: Webhooks.toWebhook(disabled),
      changes: Changes.none
    })
  })
})

describe("a webhook delivery", () => {
  const delivery: WebhookDeliveries.WebhookDeliveryRow = {
    id: WebhookDeliveryId.make(id(31)),
    webhook_id: webhook.id,
    event_id: EventId.make(id(32)),
    event_type: "message.sent",
    status: "failed",
    attempt_count: 10,
    response_status: 503,
    response_body: "busy",
    failure_code: "http_status",
    duration_ms: 12,
    last_attempt_at: noon,
    next_attempt_at: null,
    created_at: noon,
    version: 11
  }
  const retry = (
    fields: Partial<WebhookDeliveries.WebhookDeliveryRow> = {},
    to: Webhooks.WebhookRow | null = webhook
  ) =>
    WebhookDeliveries.retry(
      Option.some({ delivery: { ...delivery, ...fields }, body: "{}", webhook }),
      Option.fromNullishOr(to),
      fresh()
    )

  it("that has ended is due again at once, and rests on its webhook", () => {
    const set = { status: "pending", next_attempt_at: after(9) } as const
    const { answer, changes } = Result.getOrThrow(retry())
    const { version: _version, ...before } = delivery
    assert.deepStrictEqual(answer, { ...before, ...set })
    assert.deepStrictEqual(
      changes,
      Changes.all(
        WebhookDeliveries.WebhookDeliveryRows.update(delivery, set),
        Changes.enqueue({ kind: "webhook_delivery", lane: webhook.id, ref: delivery.id, due_at: after(9) }),
        Webhooks.WebhookRows.expect(webhook)
      )
    )
  })

  it("that is pending does not change, and none is retried of a webhook that is disabled or another", () => {
    assert.deepStrictEqual(Result.getOrThrow(retry({ status: "pending" })).changes, Changes.none)
    assert.strictEqual(refusal(retry({}, null)), "WebhookNotFound")
    assert.strictEqual(refusal(retry({ webhook_id: WebhookId.make(id(99)) })), "WebhookDeliveryNotFound")
    assert.strictEqual(refusal(retry({}, { ...webhook, status: "disabled", disabled_at: noon })), "WebhookDisabled")
    assert.strictEqual(
      refusal(WebhookDeliveries.retry(Option.none(), Option.some(webhook), fresh())),
      "WebhookDeliveryNotFound"
    )
  })
})

// ----------------------------------------------------------------- tags

describe("a tag", () => {
  const organization = { id: OrganizationId.make(id(40)), name: "Acme", created_at: noon, version: 2 }
  const create = (tags: ReadonlyArray<Tags.Tag>, name = "VIP") =>
    Tags.create({ organization: Option.some(organization), tags }, { name, color: "red" }, fresh())
  const many = (count: number) =>
    Array.from({ length: count }, (_, index): Tags.Tag => ({ ...tag, id: TagId.make(id(index)), name: `${index}` }))

  it("is created, and rests on the organization: two that both make the last one meet there", () => {
    const created = { id: TagId.make(id(100)), name: "VIP", color: "red" } as const
    assert.deepStrictEqual(Result.getOrThrow(create([])), {
      answer: created,
      changes: Changes.all(
        Tags.TagRows.insert({ ...created, name_key: "vip" }),
        OrganizationRows.update(organization, {})
      )
    })
  })

  it("is refused when its name is taken in any case, and when there are as many as may be", () => {
    assert.strictEqual(refusal(create([tag])), "TagNameTaken")
    assert.isNull(refusal(create(many(limits.tags_max - 1))))
    assert.strictEqual(refusal(create(many(limits.tags_max))), "TooManyTags")
    assert.strictEqual(refusal(create([...many(limits.tags_max), tag])), "TagNameTaken")
  })
})
