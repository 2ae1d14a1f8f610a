/** Operations take decoded input: the compiler rejects what was not decoded, and `make` what decoding would have changed. */
import { assert, describe, it } from "@effect/vitest"
import { type ApiKeys, CreateApiKey } from "@messaging-crm/core/ApiKeys"
import { type Channels, ConnectChannel } from "@messaging-crm/core/Channels"
import { type ContactFields, CreateContactField } from "@messaging-crm/core/ContactFields"
import { AddNote, type Contacts, CreateContact, UpdateContact } from "@messaging-crm/core/Contacts"
import { CloseConversation, type Conversations } from "@messaging-crm/core/Conversations"
import { ChannelId, ContactId, ConversationId, MemberId, WebhookId } from "@messaging-crm/core/Ids"
import { AddMember, type Members } from "@messaging-crm/core/Members"
import { CreateOrganization, type Organizations } from "@messaging-crm/core/Organizations"
import { Phone } from "@messaging-crm/core/Phones"
import { SendMessage, type Sends, StartConversation } from "@messaging-crm/core/Sends"
import { CreateTag, type Tags } from "@messaging-crm/core/Tags"
import { CreateWebhook, type Webhooks } from "@messaging-crm/core/Webhooks"

const id = "01990000-0000-7000-8000-00000000c0de"
const blank = "   "

interface Operations {
  readonly contacts: Contacts["Service"]
  readonly conversations: Conversations["Service"]
  readonly fields: ContactFields["Service"]
  readonly channels: Channels["Service"]
  readonly keys: ApiKeys["Service"]
  readonly members: Members["Service"]
  readonly organizations: Organizations["Service"]
  readonly sends: Sends["Service"]
  readonly tags: Tags["Service"]
  readonly webhooks: Webhooks["Service"]
}

/** For the compiler, which requires an error after each of these comments. Never called. */
export const rejected = ({ contacts, conversations, ...rest }: Operations) => {
  const { channels, fields, keys, members, organizations, sends, tags, webhooks } = rest
  const contact_id = ContactId.make(id)
  const conversation_id = ConversationId.make(id)
  const webhook_id = WebhookId.make(id)
  return [
    // @ts-expect-error not decoded
    tags.create({ name: blank, color: "red" }),
    // @ts-expect-error not decoded
    contacts.create({ first_name: blank }),
    // @ts-expect-error not decoded
    contacts.update(contact_id, { first_name: blank }),
    // @ts-expect-error decoded for another operation
    contacts.update(contact_id, CreateContact.make({ first_name: "Kim" })),
    // @ts-expect-error not decoded
    contacts.addNote(contact_id, { text: "" }),
    // @ts-expect-error not decoded
    conversations.assign(conversation_id, { assigned_user_id: null }),
    // @ts-expect-error not decoded
    conversations.close(conversation_id, { category: blank }),
    // @ts-expect-error not decoded
    sends.send(conversation_id, { type: "text", text: "" }),
    // @ts-expect-error not decoded
    sends.start({ channel_id: ChannelId.make(id), phone: Phone.make("+4915112345678"), template: { id: blank } }),
    // @ts-expect-error not decoded
    webhooks.create({ url: "https://shop.example\u0000", event_types: ["message.sent"] }),
    // @ts-expect-error not decoded
    webhooks.update(webhook_id, { event_types: [] }),
    // @ts-expect-error not decoded
    fields.create({ key: "A key", name: blank, type: "text", options: null }),
    // @ts-expect-error not decoded
    channels.connect({ type: "photo_social", name: blank, address: blank, phone_messaging_business_account_id: null }),
    // @ts-expect-error not decoded
    keys.create({ created_by: MemberId.make(id), name: blank, scopes: [], expires: "90d" }),
    // @ts-expect-error not decoded
    members.add({ name: blank, email: "ada@acme.example", role: "member" }),
    // @ts-expect-error not decoded
    organizations.create({ name: blank, owner_name: "Ada", owner_email: "ada@acme.example" })
  ]
}

describe("make rejects what decoding would have rejected or changed", () => {
  const template = { id: "acme.order", components: [] }
  for (
    const [name, make] of [
      ["a blank name of a tag", () => CreateTag.make({ name: blank, color: "red" })],
      ["a name of a tag with white space around it", () => CreateTag.make({ name: " VIP", color: "red" })],
      ["a long name of a tag", () => CreateTag.make({ name: "x".repeat(41), color: "red" })],
      ["a blank name of a contact", () => CreateContact.make({ first_name: blank })],
      ["a name of invisible characters", () => CreateContact.make({ first_name: "\u200B" })],
      ["an empty name of a contact, which decoding makes null", () => UpdateContact.make({ first_name: "" })],
      ["an email address in spaces", () => CreateContact.make({ primary_email: " kim@acme.example " })],
      ["a URL without a host", () => CreateContact.make({ website_url: "https:a" })],
      ["a day that is none", () => UpdateContact.make({ birthday: "2001-02-29" })],
      ["blank notes", () => CreateContact.make({ notes: blank })],
      ["an empty note", () => AddNote.make({ text: "" })],
      ["a blank category", () => CloseConversation.make({ category: blank })],
      ["an empty text", () => SendMessage.make({ type: "text", text: "" })],
      ["a text that no store can keep", () => SendMessage.make({ type: "text", text: "\u0000" })],
      ["half of a character", () => SendMessage.make({ type: "text", text: "\uD800" })],
      ["a template without an id", () => SendMessage.make({ type: "template", template: { ...template, id: "" } })],
      ["a number that is not canonical", () =>
        StartConversation.make({
          channel_id: ChannelId.make(id),
          phone: Phone.make("0049 151 12345678"),
          template
        })],
      [
        "a URL that no store can keep",
        () => CreateWebhook.make({ url: "https://shop.example/\u0000", event_types: ["message.sent"] })
      ],
      [
        "a webhook without events",
        () => CreateWebhook.make({ url: "https://shop.example/", event_types: [] })
      ],
      [
        "a blank option of a field",
        () => CreateContactField.make({ key: "plan", name: "Plan", type: "select", options: [blank] })
      ],
      ["a blank address of a channel", () =>
        ConnectChannel.make({
          type: "photo_social",
          name: "Photos",
          address: blank,
          phone_messaging_business_account_id: null
        })],
      [
        "a key without scopes",
        () => CreateApiKey.make({ created_by: MemberId.make(id), name: "CI", scopes: [], expires: "90d" })
      ],
      ["a blank name of a member", () => AddMember.make({ name: blank, email: "ada@acme.example", role: "member" })],
      [
        "a blank name of an organization",
        () => CreateOrganization.make({ name: blank, owner_name: "Ada", owner_email: "ada@acme.example" })
      ]
    ] as const
  ) {
    it(name, () => assert.throws(make))
  }

  it("and leaves what is decoded as it is", () => {
    const contact = { first_name: "Kim", last_name: null, notes: " kept as it is ", primary_email: "kim@acme.example" }
    assert.deepStrictEqual<unknown>(CreateContact.make(contact), contact)
  })
})
