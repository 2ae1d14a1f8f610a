/** Personal data store: the port with everything that is stored about a contact in other resources. */
import { Context, Effect, Option, Stream } from "effect"
import type { IdentityNetworkId } from "../contacts/ContactIdentities.ts"
import type { ConversationRow } from "../conversations/Conversations.ts"
import type { ContactId, OrganizationId } from "../kernel/Ids.ts"
import type { PageRequest, Position } from "../kernel/Page.ts"
import type { MessageRow } from "../messages/Messages.ts"
import type { SendRow } from "../sends/Sends.ts"
import type * as Changes from "../work/Changes.ts"

// ---------------------------------------------------------------- data

/** A network ID, with the version of its identity. */
export interface LoadedNetworkId extends IdentityNetworkId {
  readonly identity_version: Changes.Version
}

// ---------------------------------------------------------------- port

/**
 * Port: what is stored about a contact in other resources.
 *
 * **Contract** (checked by `conformance/Ports/PersonalData.ts`)
 *
 * - `networkIds` returns every network ID of the contact's identities, `conversations` returns
 *   its conversations, each in any order. `messages` and `sends` return a page of the messages or
 *   sends of a conversation, the newest first, then by the greatest id. The page is empty only if there are no more.
 *   `text`, `media`, `details`, and `content` are long texts.
 * - `eraseCopies` deletes the idempotency records whose body contains the contact's ID, or an endpoint's response to
 *   an event about the contact or its conversations, and the records with the same fingerprints that have no body or are
 *   of a part of a request. It removes the resources of events about the contact, its conversations, and its messages,
 *   and the endpoints' responses to such events. The versions of their deliveries that are pending or have a response
 *   increase.
 * - `eraseCallbacks` deletes the stored callbacks of the organization's channels that are about the contact: those with
 *   one of its network IDs on this type of channel, without the plus sign, or with one of its phones, unless one of these
 *   is a network ID of another contact when they are deleted.
 * - Nothing of another contact or organization is changed. Each may be repeated.
 */
export class PersonalDataStore extends Context.Service<PersonalDataStore, {
  readonly networkIds: (
    organization_id: OrganizationId,
    contact_id: ContactId
  ) => Effect.Effect<ReadonlyArray<LoadedNetworkId>>
  readonly conversations: (
    organization_id: OrganizationId,
    contact_id: ContactId
  ) => Effect.Effect<ReadonlyArray<ConversationRow>>
  readonly messages: (
    organization_id: OrganizationId,
    conversation_id: ConversationRow["id"],
    page: PageRequest
  ) => Effect.Effect<ReadonlyArray<MessageRow>>
  readonly sends: (
    organization_id: OrganizationId,
    conversation_id: ConversationRow["id"],
    page: PageRequest
  ) => Effect.Effect<ReadonlyArray<SendRow>>
  readonly eraseCopies: (organization_id: OrganizationId, contact_id: ContactId) => Effect.Effect<void>
  readonly eraseCallbacks: (
    organization_id: OrganizationId,
    contact_id: ContactId,
    /** The contact's phone in each spelling; empty if it has none. */
    phones: ReadonlyArray<string>
  ) => Effect.Effect<void>
}>()("@messaging-crm/core/PersonalData/PersonalDataStore") {}

// ---------------------------------------------------------- operations

/**
 * The number of messages or sends on one page of an export, and the maximum number of rows that one commit of an
 * erasure writes.
 */
const page_size = 100

/**
 * Returns the rows of a conversation, in the pages that `read` returns.
 *
 * A page can be shorter than requested; the last one is empty.
 */
export const inPages = <Row extends MessageRow | SendRow, E, R>(
  read: (page: PageRequest) => Effect.Effect<ReadonlyArray<Row>, E, R>
) =>
  Stream.paginate(null as Position | null, (after) =>
    Effect.map(read({ after, size: page_size }), (found) => {
      const last = found.at(-1)
      return [found, Option.map(Option.fromUndefinedOr(last), ({ created_at, id }) => ({ at: created_at, id }))]
    }))
