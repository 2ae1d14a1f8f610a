/** What one organization can write: by its operations, by the methods of the ports, and by the parts of a commit. */
import { ApiKeys, ApiKeyStore } from "@messaging-crm/core/ApiKeys"
import * as Changes from "@messaging-crm/core/Changes"
import { ChannelAccountRows, ChannelAccounts, ChannelAccountStore } from "@messaging-crm/core/ChannelAccounts"
import { ChannelHolds } from "@messaging-crm/core/ChannelHolds"
import { ConnectChannel } from "@messaging-crm/core/Channels"
import { ContactFields, CreateContactField } from "@messaging-crm/core/ContactFields"
import { ContactImports } from "@messaging-crm/core/ContactImports"
import { Contacts, ContactStore, CreateContact } from "@messaging-crm/core/Contacts"
import { Country } from "@messaging-crm/core/Countries"
import { EventId } from "@messaging-crm/core/Ids"
import { MediaStore } from "@messaging-crm/core/Media"
import { AddMember, Members } from "@messaging-crm/core/Members"
import type { AuditedOperation } from "@messaging-crm/core/Operations"
import { CreateOrganization, Organizations, UpdateOrganization } from "@messaging-crm/core/Organizations"
import { PersonalDataStore } from "@messaging-crm/core/PersonalData"
import { spellings } from "@messaging-crm/core/Phones"
import { Rows } from "@messaging-crm/core/Rows"
import { StorageUseStore } from "@messaging-crm/core/StorageUse"
import { tables } from "@messaging-crm/core/Tables"
import { WebhookDeliveryRows } from "@messaging-crm/core/WebhookDeliveries"
import { CreateWebhook, WebhookRows, Webhooks, WebhookStore } from "@messaging-crm/core/Webhooks"
import { DateTime, Effect, Option } from "effect"
import * as Fixtures from "../Fixtures.ts"
import { type Operation, operations, stepwise } from "../Races/Operations.ts"
import { phone, type Requirements } from "../Races/RaceScene.ts"
import type { OrganizationWrite } from "./PortMethods.ts"
import { shared_key, type SharedScene, token } from "./SharedScene.ts"

type Write<Input> = (input: Input) => ReturnType<Operation>

const organization = CreateOrganization.make({
  name: "Acme",
  owner_name: "Olga",
  owner_email: "olga@acme.example"
})

/** Every audited operation. A new one does not compile until it is here. */
export const audited: Readonly<Record<AuditedOperation, Write<SharedScene>>> = {
  "api_keys.create": operations["create a key"],
  "api_keys.revoke": ({ api_key }) => ApiKeys.use(({ revoke }) => revoke(api_key.id)),
  "channels.connect": () =>
    ChannelAccounts.use(({ connect }) =>
      connect(
        ConnectChannel.make({
          type: "phone_messaging",
          name: "Support",
          address: "+4930123457",
          phone_messaging_business_account_id: "account"
        }),
        { app_id: "app", account_id: "two", page_id: null },
        token
      )
    ),
  "channels.resume": ({ channel }) => ChannelHolds.use(({ resume }) => resume(channel.id)),
  "channels.set_token": operations["set a token"],
  "contact_fields.create": () =>
    ContactFields.use(({ create }) =>
      create(CreateContactField.make({ key: "color", name: "Color", type: "text", options: null }))
    ),
  "contacts.add_note": operations["add a note"],
  "contacts.create": () => Contacts.use(({ create }) => create(CreateContact.make({ first_name: "Kim" }))),
  "contacts.erase": stepwise.erase,
  "contacts.import": () => ContactImports.use(({ add }) => add([CreateContact.make({ first_name: "Kim" })])),
  "contacts.update": operations["replace the tags and the city"],
  "contacts.upsert": operations["upsert by number"],
  "conversations.assign": operations.assign,
  "conversations.close": operations.close,
  "conversations.reopen": (scene) => Effect.andThen(operations.close(scene), operations.reopen(scene)),
  "members.add": () =>
    Members.use(({ add }) => add(AddMember.make({ name: "Ada", email: "ada2@acme.example", role: "member" }))),
  "members.log_out": operations["log a member out"],
  "members.remove": operations["remove a member"],
  "members.set_role": operations["change a role"],
  "organizations.create": () => Organizations.use(({ create }) => create(organization)),
  "organizations.update": () =>
    Organizations.use(({ update }) => update(UpdateOrganization.make({ default_country: Country.make("DE") }))),
  "sends.send": operations.send,
  "sends.start": operations.start,
  "tags.create": operations["create a tag"],
  "webhook_deliveries.retry": operations["retry the delivery"],
  "webhooks.create": () =>
    Webhooks.use(({ create }) =>
      create(CreateWebhook.make({ url: "https://example.com/hook", event_types: ["message.received"] }))
    ),
  "webhooks.disable": operations["disable the webhook"],
  "webhooks.replay": operations["replay to the webhook"],
  "webhooks.rotate_secret": operations["rotate the secret"],
  "webhooks.test": operations["test the webhook"],
  "webhooks.update": operations["subscribe to less"]
}

/** An organization, and the rows that its call names: its own ones, or those of another organization. */
interface Call {
  readonly by: SharedScene
  readonly named: SharedScene
}

type PortWrite = (call: Call) => Effect.Effect<unknown, unknown, Requirements>

/** The methods of the ports that write the rows of one organization. A new one does not compile until it is here. */
export const methods: Readonly<Record<OrganizationWrite, PortWrite>> = {
  "ApiKeyStore.authenticate": ({ by }) =>
    Effect.flatMap(
      ApiKeys.use(({ digest }) => digest(by.key)),
      (digest) => ApiKeyStore.use((store) => store.authenticate(digest, 9, by.now))
    ),
  "ChannelAccountStore.reseal": ({ by, named }) =>
    Effect.flatMap(
      Rows.use((rows) => rows.locate(ChannelAccountRows, named.channel.id)),
      (found) =>
        ChannelAccountStore.use((store) =>
          store.reseal(by.organization_id, named.channel.id, Option.getOrThrow(found).row.sealed_token, "resealed")
        )
    ),
  "ContactStore.insertNew": ({ by, named }) =>
    ContactStore.use((store) =>
      Effect.flatMap(
        Fixtures.newContact,
        (contact) => store.insertNew(by.organization_id, [{ ...contact, id: named.conversation.contact.id }], [])
      )
    ),
  "MediaStore.begin": ({ by, named }) =>
    MediaStore.use((store) =>
      Effect.andThen(
        store.discard(by.organization_id, by.unfinished),
        store.begin(by.organization_id, named.unfinished, by.now)
      )
    ),
  "MediaStore.append": ({ by, named }) =>
    MediaStore.use((store) =>
      store.append(by.organization_id, named.unfinished, { start: 0, bytes: Uint8Array.of(9) })
    ),
  "MediaStore.discard": ({ by, named }) =>
    MediaStore.use((store) => store.discard(by.organization_id, named.unfinished)),
  "OrganizationStore.insert": () => Fixtures.organization,
  "PersonalDataStore.eraseCopies": ({ by, named }) =>
    PersonalDataStore.use((store) => store.eraseCopies(by.organization_id, named.conversation.contact.id)),
  "PersonalDataStore.eraseCallbacks": ({ by, named }) =>
    PersonalDataStore.use((store) =>
      store.eraseCallbacks(by.organization_id, named.conversation.contact.id, spellings(phone))
    ),
  "StorageUseStore.add": ({ by }) =>
    StorageUseStore.use((store) =>
      store.add(by.organization_id, { bytes: 1, expires_at: DateTime.add(by.now, { days: 1 }) }, by.now)
    ),
  "WebhookStore.reseal": ({ by, named }) =>
    Effect.flatMap(
      Rows.use((rows) => rows.find(WebhookRows, named.organization_id, named.webhook.id)),
      (found) =>
        WebhookStore.use((store) =>
          store.reseal(by.organization_id, named.webhook.id, Option.getOrThrow(found).sealed_secret, "resealed")
        )
    )
}

/** A stored row of one of core's tables. */
export interface StoredRow {
  readonly table: string
  readonly row: Readonly<Record<string, unknown>>
}

/** Returns the changes that a function makes of each row that core's tables declare. */
const ofRows = (
  rows: ReadonlyArray<StoredRow>,
  changeOf: (row: Changes.Expectation) => Changes.Changes
): ReadonlyArray<readonly [string, Changes.Changes]> =>
  rows.flatMap(({ row, table: name }) => {
    const table = Object.values(tables).find((each) => each.name === name)
    if (table === undefined) return []
    const key = Object.fromEntries(Object.keys(table.key).map((column) => [column, String(row[column])]))
    return [[name, changeOf({ table, key, version: Number(row["version"]) })] as const]
  })

/** The part of a commit by which an organization names rows: null where only a worker that has claimed the row knows its token. */
type CommitPart =
  | ((named: SharedScene, rows: ReadonlyArray<StoredRow>) => ReadonlyArray<
    readonly [what: string, changes: Changes.Changes]
  >)
  | null

const named = (changes: Changes.Changes) => [["of another organization", changes] as const]

/** Every part of a commit. A new one does not compile until it is here. */
export const parts: Readonly<Record<keyof Changes.Changes, CommitPart>> = {
  expect: (_, rows) => ofRows(rows, (row) => ({ expect: [row] })),
  insert: null,
  update: (_, rows) => ofRows(rows, (row) => ({ update: [{ ...row, set: {} }] })),
  remove: (_, rows) => ofRows(rows, (row) => ({ remove: [row] })),
  aliases: ({ conversation }) =>
    named({ aliases: [{ channel_type: "phone_messaging", name: "DE.9", identity_id: conversation.contact.id }] }),
  touch: ({ conversation, now }) =>
    named(Changes.touch({
      conversation_id: conversation.id,
      conversation_version: null,
      contact_id: conversation.contact.id,
      at: DateTime.add(now, { days: 1 }),
      preview: "of another organization",
      last_inbound_at: DateTime.add(now, { days: 1 })
    })),
  raise: null,
  expand: (_, rows) =>
    rows.flatMap(({ row, table }) =>
      table.endsWith("events") ? [["event", Changes.expand(EventId.make(String(row["id"])))] as const] : []
    ),
  enqueue: null,
  expedite: ({ now }, rows) =>
    rows.flatMap(({ row, table }) => {
      const [lane, ref] = [String(row["webhook_id"]), String(row["id"])]
      const due_at = DateTime.subtract(now, { days: 1 })
      return table === WebhookDeliveryRows.table.name
        ? [["delivery", Changes.expedite({ kind: "webhook_delivery", lane, ref, due_at })] as const]
        : []
    }),
  throttle: null,
  abandon: ({ full, webhook }) =>
    [full, webhook].map(({ id, url }) => [url, { abandon: [{ webhook_id: id, limit: 99 }] }] as const),
  settle: null,
  callback: ({ callback }) => named({ callback }),
  response: () => named({ response: { ...Fixtures.idempotencyRecord, key: shared_key } }),
  audit: null
}
