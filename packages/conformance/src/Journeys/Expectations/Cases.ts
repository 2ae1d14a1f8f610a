/** Operations that depend on rows which they do not change, by the function of core that makes their commit expect the rows. */
import { CurrentActor } from "@messaging-crm/core/Actor"
import { ApiKeys, CreateApiKey } from "@messaging-crm/core/ApiKeys"
import type * as Changes from "@messaging-crm/core/Changes"
import { ContactFields, CreateContactField } from "@messaging-crm/core/ContactFields"
import { IdentityRows } from "@messaging-crm/core/ContactIdentities"
import { ContactRows, Contacts, CreateContact, UpdateContact } from "@messaging-crm/core/Contacts"
import { ContactUpserts, UpsertContacts } from "@messaging-crm/core/ContactUpserts"
import {
  AssignConversation,
  CloseConversation,
  ConversationRows,
  Conversations,
  ConversationStore
} from "@messaging-crm/core/Conversations"
import type * as Crm from "@messaging-crm/core/Crm"
import { ApiKeyId, type Ids, type OrganizationId } from "@messaging-crm/core/Ids"
import { MemberRows, Members } from "@messaging-crm/core/Members"
import { OrganizationRows } from "@messaging-crm/core/Organizations"
import { SendMessage, SendRows, Sends, StartConversation } from "@messaging-crm/core/Sends"
import { CreateTag, Tags } from "@messaging-crm/core/Tags"
import { WebhookDeliveries } from "@messaging-crm/core/WebhookDeliveries"
import { ReplayWebhook, WebhookReplays } from "@messaging-crm/core/WebhookReplays"
import { CreateWebhook, WebhookRows, Webhooks } from "@messaging-crm/core/Webhooks"
import { DateTime, Effect, Schema } from "effect"
import type { ScriptedEndpoints } from "../../Endpoints.ts"
import * as Fixtures from "../../Fixtures.ts"
import { greetingWith, type ScriptedProvider } from "../../Provider.ts"
import { makeScene, work } from "../JourneyScene.ts"
import { makeWebhookScene } from "../WebhookScene.ts"

/** An operation that is about to run, and the rows that its commit must expect, whatever their versions. */
interface Prepared {
  readonly organization_id: OrganizationId
  readonly run: Effect.Effect<unknown, unknown, Crm.Services>
  readonly expects: ReadonlyArray<Changes.Changes>
}

/** The preparation of an operation. */
export type Case = Effect.Effect<
  Prepared,
  unknown,
  Crm.Services | Crm.StoragePorts | Ids | ScriptedEndpoints | ScriptedProvider
>
type Cases = Readonly<Record<string, Case>>

const row = <Id extends string>(id: Id) => ({ id, version: 0 })

/** Returns the first value of a list, which must have one. */
const firstOf = <A>([first]: ReadonlyArray<A>): Effect.Effect<A> =>
  first === undefined ? Effect.die(new Error("The scene is incomplete.")) : Effect.succeed(first)

/** A person who has written, and a member who is no owner. Operations are those of an API key, which always leave a record. */
const person = Effect.gen(function*() {
  const scene = yield* makeScene
  const { channel, number, organization_id } = scene
  yield* scene.receiveText("m.1", "Hi")
  const known = yield* firstOf(
    yield* ConversationStore.use((store) => store.identify(organization_id, channel, [number]))
  )
  const member = yield* Fixtures.member(organization_id, "member")
  const conversation = yield* firstOf(known.conversation === null ? [] : [known.conversation])
  const actor = { organization_id, member_id: member.id, key_id: ApiKeyId.make(yield* Fixtures.uuid) }
  const as = Effect.provideService(CurrentActor, actor)
  return { ...scene, as, contact: known.contact, conversation, identity: known.identity, member }
})
type Person = Effect.Success<typeof person>

const sentBy = ({ number }: Person, aliases: ReadonlyArray<string> = []) => ({
  external_id: number,
  display_name: "Kim",
  username: null,
  aliases
})

const start = (channel_id: Person["channel"]["id"], { as, number: phone }: Person) =>
  as(Sends.use((sends) => sends.start(StartConversation.make({ channel_id, phone, template: greetingWith() }))))

const receive = Effect.fnUntraced(function*(
  { channel, receive }: Pick<Person, "channel" | "receive">,
  from: ReturnType<typeof sentBy>
) {
  return receive(Fixtures.messageReceived({
    channel_id: channel.id,
    provider_message_id: yield* Fixtures.uuid,
    from,
    sent_at: yield* DateTime.now
  }))
})

const upsert = (input: typeof UpsertContacts.Encoded) =>
  Effect.flatMap(
    ContactUpserts.use((upserts) => upserts.upsert(Schema.decodeSync(UpsertContacts)(input))),
    (results) => Effect.forEach(results, Effect.fromResult)
  )

const ofContacts: Readonly<Record<string, Cases>> = {
  "ContactDecisions.expectOwners": {
    "creates a contact with an owner": Effect.map(person, ({ as, member, organization_id }) => ({
      organization_id,
      run: as(
        Contacts.use(({ create }) => create(CreateContact.make({ first_name: "Kim", owner_user_id: member.id })))
      ),
      expects: [MemberRows.expect(row(member.id))]
    })),
    "gives a contact an owner": Effect.map(person, ({ as, contact, member, organization_id }) => ({
      organization_id,
      run: as(Contacts.use(({ update }) => update(contact.id, UpdateContact.make({ owner_user_id: member.id })))),
      expects: [MemberRows.expect(row(member.id))]
    })),
    "upserts a new contact with an owner": Effect.map(person, ({ as, member, organization_id }) => ({
      organization_id,
      run: as(upsert({
        match: "primary_email",
        contacts: [{ primary_email: "kim@acme.example", owner_user_id: member.id }]
      })),
      expects: [MemberRows.expect(row(member.id))]
    }))
  },
  "ContactDecisions.update": {
    "updates no field of a contact": Effect.map(person, ({ as, contact, organization_id }) => ({
      organization_id,
      run: as(Contacts.use(({ update }) => update(contact.id, UpdateContact.make({})))),
      expects: [ContactRows.expect(row(contact.id))]
    }))
  },
  "ContactUpserts.upsert": {
    "upserts a known person with an owner": Effect.map(person, ({ as, identity, member, number, organization_id }) => ({
      organization_id,
      run: as(upsert({
        match: "external_id",
        channel_type: "phone_messaging",
        contacts: [{ external_id: number, owner_user_id: member.id }]
      })),
      expects: [IdentityRows.expect(row(identity.id)), MemberRows.expect(row(member.id))]
    }))
  },
  "ContactIdentities.updateIdentity": {
    "learns another ID of a person": Effect.gen(function*() {
      const scene = yield* person
      return {
        organization_id: scene.organization_id,
        run: yield* receive(scene, sentBy(scene, [yield* Fixtures.uuid])),
        expects: [IdentityRows.expect(row(scene.identity.id)), ConversationRows.expect(row(scene.conversation.id))]
      }
    })
  }
}

const ofConversations: Readonly<Record<string, Cases>> = {
  "Conversations.assign": {
    "assigns a conversation": Effect.map(person, ({ as, conversation, member, organization_id }) => ({
      organization_id,
      run: as(
        Conversations.use(({ assign }) =>
          assign(conversation.id, AssignConversation.make({ assigned_user_id: member.id }))
        )
      ),
      expects: [MemberRows.expect(row(member.id))]
    }))
  },
  "Conversations.changeOrExpect": {
    "closes a closed conversation": Effect.gen(function*() {
      const { as, conversation, organization_id } = yield* person
      const run = as(Conversations.use(({ close }) => close(conversation.id, CloseConversation.make({}))))
      yield* run
      return { organization_id, run, expects: [ConversationRows.expect(row(conversation.id))] }
    }),
    "reopens an open conversation": Effect.map(person, ({ as, conversation, organization_id }) => ({
      organization_id,
      run: as(Conversations.use(({ reopen }) => reopen(conversation.id))),
      expects: [ConversationRows.expect(row(conversation.id))]
    })),
    "unassigns an unassigned conversation": Effect.map(person, ({ as, conversation, organization_id }) => ({
      organization_id,
      run: as(
        Conversations.use(({ assign }) => assign(conversation.id, AssignConversation.make({ assigned_user_id: null })))
      ),
      expects: [ConversationRows.expect(row(conversation.id))]
    })),
    "assigns a conversation to its member": Effect.gen(function*() {
      const { as, conversation, member, organization_id } = yield* person
      const assigned = { assigned_user_id: member.id, sync_contact_owner: false }
      const run = as(Conversations.use(({ assign }) => assign(conversation.id, AssignConversation.make(assigned))))
      yield* run
      const expects = [ConversationRows.expect(row(conversation.id)), MemberRows.expect(row(member.id))]
      return { organization_id, run, expects }
    })
  },
  "ConversationState.open": {
    "starts a first conversation on another channel": Effect.gen(function*() {
      const scene = yield* person
      const { id } = yield* Fixtures.channel(scene.organization_id)
      return {
        organization_id: scene.organization_id,
        run: start(id, scene),
        expects: [IdentityRows.expect(row(scene.identity.id))]
      }
    }),
    "stores a first message on another channel": Effect.gen(function*() {
      const scene = yield* person
      const channel = yield* Fixtures.channel(scene.organization_id)
      return {
        organization_id: scene.organization_id,
        run: yield* receive({ ...scene, channel }, sentBy(scene)),
        expects: [IdentityRows.expect(row(scene.identity.id))]
      }
    })
  }
}

const ofMessages: Readonly<Record<string, Cases>> = {
  "NetworkMessages.storeMessage": {
    "stores a message in an open conversation": Effect.gen(function*() {
      const scene = yield* person
      return {
        organization_id: scene.organization_id,
        run: yield* receive(scene, sentBy(scene)),
        expects: [ConversationRows.expect(row(scene.conversation.id))]
      }
    })
  },
  "Sends.queue": {
    "sends a text": Effect.map(person, ({ as, conversation, organization_id }) => ({
      organization_id,
      run: as(Sends.use(({ send }) => send(conversation.id, SendMessage.make({ type: "text", text: "Hi" })))),
      expects: [ConversationRows.expect(row(conversation.id))]
    })),
    "starts a conversation that is open": Effect.map(person, (scene) => ({
      organization_id: scene.organization_id,
      run: start(scene.channel.id, scene),
      expects: [ConversationRows.expect(row(scene.conversation.id))]
    }))
  },
  "SendCompletion.complete": {
    "learns another ID of a person from the report of a second message of a send": Effect.gen(function*() {
      const { organization_id, receiveStatus, start } = yield* makeScene
      const { id } = yield* start()
      yield* work
      const other = { provider_message_id: yield* Fixtures.uuid, recipient_aliases: [yield* Fixtures.uuid] }
      return {
        organization_id,
        run: receiveStatus(id, { status: "delivered", at: yield* DateTime.now }, other),
        expects: [SendRows.expect(row(id))]
      }
    })
  }
}

const ofWebhooks: Readonly<Record<string, Cases>> = {
  "WebhookDeliveries.retry": {
    "retries a delivery": Effect.gen(function*() {
      const { as, close, organization_id, subscribe } = yield* makeWebhookScene
      const { deliveries, id } = yield* subscribe("conversation.closed")
      yield* close()
      yield* work
      const delivery = yield* firstOf(yield* deliveries)
      return {
        organization_id,
        run: as(WebhookDeliveries.use(({ retry }) => retry(id, delivery.id))),
        expects: [WebhookRows.expect(row(id))]
      }
    })
  },
  "WebhookDeliveries.test": {
    "tests a webhook": Effect.gen(function*() {
      const { as, organization_id, subscribe } = yield* makeWebhookScene
      const { id } = yield* subscribe("conversation.closed")
      const run = as(WebhookDeliveries.use(({ test }) => test(id)))
      return { organization_id, run, expects: [WebhookRows.expect(row(id))] }
    })
  },
  "WebhookReplays.start": {
    "starts a replay": Effect.gen(function*() {
      const { as, organization_id, subscribe } = yield* makeWebhookScene
      const { id } = yield* subscribe("conversation.closed")
      const since = yield* DateTime.now
      const run = as(WebhookReplays.use(({ start }) => start(id, ReplayWebhook.make({ since }))))
      return { organization_id, run, expects: [WebhookRows.expect(row(id))] }
    })
  },
  "WebhookOutcome.afterSuccess": {
    "delivers an event": Effect.gen(function*() {
      const { close, organization_id, subscribe } = yield* makeWebhookScene
      const { id } = yield* subscribe("conversation.closed")
      yield* close()
      return { organization_id, run: work, expects: [WebhookRows.expect(row(id))] }
    })
  }
}

/** An operation whose decision depends on the number of the organization's rows. */
const limited = (
  run: (as: Person["as"]) => Effect.Effect<unknown, unknown, Crm.Services>
): Case =>
  Effect.map(makeScene, ({ as, organization_id }) => ({
    organization_id,
    run: run(as),
    expects: [OrganizationRows.expect(row(organization_id))]
  }))

const ofOrganizations: Readonly<Record<string, Cases>> = {
  "ApiKeys.create": {
    "creates a key": Effect.gen(function*() {
      const { as, organization_id } = yield* makeScene
      const { id: created_by } = yield* Fixtures.member(organization_id, "admin")
      const input = CreateApiKey.make({ name: "CI", created_by, scopes: ["contacts:read"], expires: "90d" })
      return {
        organization_id,
        run: as(ApiKeys.use(({ create }) => create(input))),
        expects: [MemberRows.expect(row(created_by))]
      }
    })
  },
  "ContactFields.create": {
    "creates a contact field": limited((as) =>
      as(
        ContactFields.use(({ create }) =>
          create(CreateContactField.make({ key: "size", name: "Size", type: "text", options: null }))
        )
      )
    )
  },
  "Members.change": Object.fromEntries(
    (["remove", "setRole"] as const).map((name): readonly [string, Case] => [
      name === "remove" ? "removes one of two owners" : "takes the role of one of two owners",
      Effect.gen(function*() {
        const { as, organization_id } = yield* makeScene
        const members = yield* as(Members.use(({ list }) => list))
        const [removed, kept] = [yield* firstOf(members), yield* firstOf(members.slice(1))]
        return {
          organization_id,
          run: as(
            Members.use(({ remove, setRole }) => name === "remove" ? remove(removed.id) : setRole(removed.id, "admin"))
          ),
          expects: [MemberRows.expect(row(kept.id))]
        }
      })
    ])
  ),
  "Tags.create": {
    "creates a tag": limited((as) =>
      as(Tags.use(({ create }) => create(CreateTag.make({ name: "VIP", color: "red" }))))
    )
  },
  "WebhookDecisions.create": {
    "creates a webhook": limited((as) =>
      as(
        Webhooks.use(({ create }) =>
          create(CreateWebhook.make({ url: "https://shop.example/crm", event_types: ["message.sent"] }))
        )
      )
    )
  }
}

/** The cases by the file and the function of core. A rule compares these names with the source of core. */
export const cases: Readonly<Record<string, Cases>> = {
  ...ofContacts,
  ...ofConversations,
  ...ofMessages,
  ...ofOrganizations,
  ...ofWebhooks
}
