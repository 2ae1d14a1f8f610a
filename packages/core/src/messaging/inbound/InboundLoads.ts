/** Loads what the decisions about a provider's events need. */
import { Effect, Option, Stream } from "effect"
import { ChannelHoldStore } from "../../catalog/ChannelHolds.ts"
import type { Channel } from "../../catalog/Channels.ts"
import { isNewToContact, networkIdsOf } from "../../contacts/ContactIdentities.ts"
import { makeFindMatch, unmatched } from "../../contacts/ContactMatches.ts"
import { ContactStore, type Person } from "../../contacts/Contacts.ts"
import type { ConversationId, OrganizationId } from "../../kernel/Ids.ts"
import { limits } from "../../kernel/Limits.ts"
import type { Position } from "../../kernel/Page.ts"
import { ConversationStore } from "../Conversations.ts"
import { arrived, MessageStore, positionOf } from "../Messages.ts"
import * as SendCompletion from "../outbound/SendCompletion.ts"
import type { MessageDeleted, MessagesReported, MessageStatusReported } from "./ProviderEvents.ts"
import { coverageOf } from "./ProviderMessages.ts"

/** The provider's ID of a message. */
export type OfMessage = Pick<MessageDeleted, "channel_id" | "provider_message_id">

/** The maximum number of pages that are read for one report about all messages before a time. */
const covered_pages_max = 20

/** Makes the operations that load what an event is about. */
export const makeInboundLoads = Effect.gen(function*() {
  const contacts = yield* ContactStore
  const conversations = yield* ConversationStore
  const findMatch = yield* makeFindMatch
  const holds = yield* ChannelHoldStore
  const loadCompletion = yield* SendCompletion.makeLoadCompletion
  const messages = yield* MessageStore

  const findMessage = (organization_id: OrganizationId, { channel_id, provider_message_id }: OfMessage) =>
    messages.findByProviderId(organization_id, channel_id, provider_message_id)

  const loadStatus = Effect.fnUntraced(function*(organization_id: OrganizationId, event: MessageStatusReported) {
    const { channel_id, provider_message_id, reference: send_id } = event
    const found = yield* findMessage(organization_id, event)
    const hold = event.pauses_channel === undefined
      ? Option.none()
      : yield* holds.find(organization_id, channel_id)
    // A message written in the network's own app may be the send's.
    const isKnown = Option.exists(arrived(found), ({ sender }) => sender.type !== "business_app")
    if (isKnown || send_id === null) return { found, hold, completion: null }
    const completion = yield* loadCompletion(organization_id, { channel_id, provider_message_id, send_id })
    return { found, hold, completion }
  })

  const loadSender = Effect.fnUntraced(function*(
    organization_id: OrganizationId,
    channel: Channel,
    person: Person
  ) {
    const threads = yield* conversations.findThreads(organization_id, channel, networkIdsOf(person))
    const [known] = threads
    if (known !== undefined) {
      const found = isNewToContact(known, person)
        ? yield* contacts.load(organization_id, known.contact.id)
        : Option.none()
      return { threads, contact: { ...unmatched, found } }
    }
    const contact = person.phone === null
      ? unmatched
      : yield* findMatch(organization_id, "primary_phone", person.phone)
    return { threads, contact }
  })

  const loadIdentity = Effect.fnUntraced(function*(
    organization_id: OrganizationId,
    former: ReadonlyArray<string>,
    person: Person
  ) {
    const network_ids = Array.from(new Set([...former, ...networkIdsOf(person)]))
    const known = yield* contacts.identify(organization_id, person.channel_type, network_ids)
    const found = known.find(({ network_id }) => former.includes(network_id))
    const contact = found === undefined ? Option.none() : yield* contacts.load(organization_id, found.contact.id)
    return { known, contact }
  })

  /** Returns the messages of a conversation that a report covers, newest first, up to those of an earlier report. */
  const covered = (organization_id: OrganizationId, conversation_id: ConversationId, report: MessagesReported) =>
    Stream.paginate(
      { after: null as Position | null, page: 1 },
      ({ after, page }) =>
        Effect.map(
          messages.list(organization_id, conversation_id, { after, size: limits.page_size_max }),
          (found) => {
            const last = found.at(-1)
            const coverages = new Set(found.map((message) => coverageOf(message, report)))
            const isEnd = !coverages.has("advances") && coverages.has("reached")
            return [
              found.filter((message) => coverageOf(message, report) === "advances"),
              last === undefined || isEnd || found.length < limits.page_size_max || page === covered_pages_max
                ? Option.none()
                : Option.some({ after: positionOf(last), page: page + 1 })
            ] as const
          }
        )
    )

  return { covered, findMessage, loadIdentity, loadSender, loadStatus }
})
