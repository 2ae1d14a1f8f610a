/** The demo organization of `dev`: real data, created through the operations. */
import { CurrentActor } from "@messaging-crm/core/Actor"
import { Channels } from "@messaging-crm/core/Channels"
import { ContactFields } from "@messaging-crm/core/ContactFields"
import { Conversations } from "@messaging-crm/core/Conversations"
import { MemberId, OrganizationId } from "@messaging-crm/core/Ids"
import { Messages } from "@messaging-crm/core/Messages"
import { Tags } from "@messaging-crm/core/Tags"
import { Templates } from "@messaging-crm/core/Templates"
import { Effect, Predicate, Record, Schema } from "effect"
import { join } from "node:path"
import * as DemoSeed from "./DemoSeed.ts"
import * as SecretFile from "./SecretFile.ts"

/** The facts that `dev` prints when it is ready. */
export interface Ready {
  readonly base_url: string
  readonly docs_url: string
  /** The console in a browser; null if the server is not on the loopback address, or has no demo organization. */
  readonly console_url: string | null
  readonly database_url: string | null
  /** The fake network that the provider uses, and its verify token; null without one. */
  readonly network: { readonly url: string; readonly verify_token: string } | null
  readonly api_key: string | null
  readonly organization_id: string | null
  readonly member_id: string | null
  readonly channels: ReadonlyArray<{ readonly id: string; readonly type: string }>
  readonly template_ids: ReadonlyArray<string>
}

const Account = Schema.fromJsonString(
  Schema.Struct({ api_key: Schema.String, organization_id: OrganizationId, member_id: MemberId })
)
const encodeAccount = Schema.encodeEffect(Account)
const decodeAccount = Schema.decodeUnknownEffect(Account)

const none = { api_key: null, organization_id: null, member_id: null, channels: [], template_ids: [] }

type Prepared = Effect.Success<ReturnType<typeof prepare>>

/** Creates the demo organization at the first start, or finds the existing one, and returns its IDs and key. */
export const prepare = Effect.fnUntraced(function*(options: {
  readonly data_dir: string
  readonly demo: boolean
  readonly seed_contacts: number
  readonly storage: "embedded" | "memory"
}) {
  if (!options.demo) return none
  const created = Effect.flatMap(DemoSeed.createOrganization, (account) => Effect.orDie(encodeAccount(account)))
  // With storage in memory the organization and its key are new at each start.
  const text = options.storage === "memory"
    ? yield* created
    : yield* SecretFile.readOrCreate(join(options.data_dir, "demo.json"), created)
  const { api_key, member_id, organization_id } = yield* Effect.orDie(decodeAccount(text))
  return yield* Effect.gen(function*() {
    if (options.seed_contacts > 0) yield* DemoSeed.addContacts(options.seed_contacts)
    const channels = (yield* Channels.use(({ list }) => list)).map(({ id, type }) => ({ id, type }))
    const templates = yield* Effect.orDie(Templates.use(({ list }) => list))
    return { api_key, organization_id, member_id, channels, template_ids: templates.map(({ id }) => id) }
  }).pipe(Effect.provideService(CurrentActor, { organization_id, member_id }))
})

/** Returns IDs of the demo for the forms of the docs page. */
export const exampleIds = Effect.fnUntraced(
  function*({ channels, member_id, organization_id, template_ids }: Prepared) {
    if (organization_id === null) return {}
    return yield* Effect.gen(function*() {
      const filters = { status: "open", cursor: null, page_size: 1 } as const
      const { data: [conversation] } = yield* Effect.orDie(Conversations.use(({ list }) => list(filters)))
      const messages = conversation === undefined
        ? []
        : (yield* Effect.orDie(Messages.use(({ list }) => list(conversation.id, null)))).data
      const ids = {
        contact_id: conversation?.contact.id,
        conversation_id: conversation?.id,
        message_id: messages[0]?.id,
        tag_id: (yield* Tags.use(({ list }) => list))[0]?.id,
        owner_user_id: member_id,
        assigned_user_id: member_id,
        contact_field_id: (yield* ContactFields.use(({ list }) => list))[0]?.id,
        channel_id: channels.find(({ type }) => type === "phone_messaging")?.id,
        template_id: template_ids[0]
      }
      return Record.filter(ids, Predicate.isString)
    }).pipe(Effect.provideService(CurrentActor, { organization_id, member_id }))
  }
)
