/**
 * The data of a contact and of its identities (contract §8.1).
 */
import { type Effect, Schema } from "effect"
import { ChannelType } from "../catalog/Channels.ts"
import { Tag } from "../catalog/Tags.ts"
import { ContactId, ConversationId, IdentityId, MemberId } from "../kernel/Ids.ts"
import { Timestamp } from "../kernel/Timestamps.ts"
import type { Row } from "../work/Rows.ts"

// ---------------------------------------------------------------- data

export const LeadStatus = Schema.Literals([
  "new",
  "open",
  "in_progress",
  "open_deal",
  "unqualified",
  "attempted_to_contact",
  "connected",
  "bad_timing"
])
export type LeadStatus = typeof LeadStatus.Type

export const LifecycleStage = Schema.Literals([
  "subscriber",
  "lead",
  "marketing_qualified",
  "sales_qualified",
  "opportunity",
  "customer",
  "evangelist",
  "other"
])
export type LifecycleStage = typeof LifecycleStage.Type

/** A contact's account on one type of channel. */
export const Identity = Schema.Struct({
  id: IdentityId,
  channel_type: ChannelType,
  external_id: Schema.String.annotate({
    description: "The network's ID for the person; on `phone_messaging`, the number if the network provides it."
  }),
  display_name: Schema.NullOr(Schema.String),
  username: Schema.NullOr(Schema.String),
  marketing_opt_out_at: Schema.NullOr(Timestamp).annotate({
    description: "When the person stopped marketing messages on the network; null if they did not, or resumed them."
  }),
  marketing_opt_in_at: Schema.NullOr(Timestamp).annotate({
    description: "When the person resumed marketing messages after they had stopped them; null otherwise."
  })
}).annotate({ identifier: "Identity", description: "A contact's account on one type of channel." })
export interface Identity extends Schema.Schema.Type<typeof Identity> {}

/** The preference of a person who neither stopped nor resumed marketing messages. */
export const no_marketing_preference = { marketing_opt_out_at: null, marketing_opt_in_at: null } as const

/** Returns the external ID of an identity after the person's data was erased. It is unique, as an external ID must be. */
export const erasedExternalId = (id: IdentityId): string => `erased-${id}`

/** Returns whether an external ID is one that an erasure gives to an identity. */
export const isErasedExternalId = (external_id: string): boolean =>
  external_id.startsWith("erased-") && Schema.is(IdentityId)(external_id.slice("erased-".length))

const OptionalText = Schema.NullOr(Schema.String)

/** Descriptions shared by `Contact` and `WritableContact`. */
export const field_descriptions = {
  birthday: { description: "A calendar date, `YYYY-MM-DD`." },
  region: { description: "State, province, or region." },
  network_url: { description: "The person's profile on a professional network." },
  source: { description: "Where the contact came from." },
  notes: { description: "Free text." },
  owner_user_id: { description: "The member who owns the contact." },
  lead_status: { description: "The contact's state in the sales process." },
  lifecycle_stage: { description: "The contact's stage on the way from subscriber to customer." }
}

export const Contact = Schema.Struct({
  id: ContactId,
  first_name: OptionalText,
  last_name: OptionalText,
  primary_email: OptionalText,
  primary_phone: OptionalText.annotate({ description: "`+` and digits, with country code. Not unique." }),
  company: OptionalText,
  job_title: OptionalText,
  birthday: Schema.NullOr(Schema.String.annotate({ format: "date" })).annotate(field_descriptions.birthday),
  city: OptionalText,
  region: OptionalText.annotate(field_descriptions.region),
  country: OptionalText,
  street_address: OptionalText,
  postal_code: OptionalText,
  website_url: OptionalText,
  network_url: OptionalText.annotate(field_descriptions.network_url),
  source: OptionalText.annotate(field_descriptions.source),
  notes: OptionalText.annotate(field_descriptions.notes),
  owner_user_id: Schema.NullOr(MemberId).annotate(field_descriptions.owner_user_id),
  lead_status: Schema.NullOr(LeadStatus).annotate(field_descriptions.lead_status),
  lifecycle_stage: Schema.NullOr(LifecycleStage).annotate(field_descriptions.lifecycle_stage),
  custom_values: Schema.Record(Schema.String, Schema.String).annotate({
    description: "Values of the fields that the organization has defined, by contact field ID."
  }),
  identities: Schema.Array(Identity).annotate({ description: "The contact's network accounts, ordered by ID." }),
  tags: Schema.Array(Tag),
  last_activity_at: Schema.NullOr(Timestamp),
  last_activity_preview: OptionalText.annotate({ description: "The beginning of the last message." }),
  last_conversation_id: Schema.NullOr(ConversationId),
  updated_at: Timestamp.pipe(
    Schema.annotateEncoded({
      description:
        "Changed by edits, notes, tags, and new messages. Never decreases. Lists of contacts are ordered by it."
    })
  )
}).annotate({ identifier: "Contact", description: "A person in the CRM." })
export interface Contact extends Schema.Schema.Type<typeof Contact> {}

/** The fields of a contact about whom nothing is known. */
export const emptyContact = {
  first_name: null,
  last_name: null,
  primary_email: null,
  primary_phone: null,
  company: null,
  job_title: null,
  birthday: null,
  city: null,
  region: null,
  country: null,
  street_address: null,
  postal_code: null,
  website_url: null,
  network_url: null,
  source: null,
  notes: null,
  owner_user_id: null,
  lead_status: null,
  lifecycle_stage: null,
  custom_values: {},
  identities: [],
  tags: [],
  last_activity_at: null,
  last_activity_preview: null,
  last_conversation_id: null
} satisfies Omit<Contact, "id" | "updated_at">

/** A person as a network reports them: the input for finding or creating a contact. */
export interface Person {
  readonly channel_type: ChannelType
  readonly external_id: string
  /** Other network IDs of the same person on the same type of channel. */
  readonly aliases: ReadonlyArray<string>
  /** The canonical phone number, on phone messaging where it is known. */
  readonly phone: string | null
  readonly display_name: string | null
  readonly username: string | null
}

/** An identity and its contact: their IDs, and the names that a conversation shows. */
export interface ContactIdentity
  extends Pick<Contact, "first_name" | "last_name">, Pick<Identity, "display_name" | "external_id" | "username">
{
  readonly identity_id: IdentityId
  readonly contact_id: ContactId
}

/** A contact as it was loaded for a decision. */
export type LoadedContact = Row<Contact>

/** A contact that was found by a value, and whether others have it too. */
export interface MatchedContact extends LoadedContact {
  readonly is_ambiguous: boolean
}

/** A contact to import: its ID, if it is derived, and the values that another contact of the same person can have. */
export interface ImportedPerson {
  readonly id: ContactId | null
  /** The phone in each of its one or two spellings; empty if there is none. */
  readonly phones: ReadonlyArray<string>
  /** The email as it is compared. */
  readonly email_key: string | null
}

/** The parts of a contact to import that the organization has already. */
export interface KnownPerson {
  /** Whether a contact has the ID. */
  readonly has_id: boolean
  /** Whether a contact with another ID has one of the phones. */
  readonly has_phone: boolean
  /** Whether a contact with another ID has the email. */
  readonly has_email: boolean
}

/** A condition on the contact before a write, for example that it is as the caller read it. */
export type ContactPrecondition = (contact: Contact) => Effect.Effect<boolean>

/** The columns of an identity. The contact's row has a copy of it. */
export const IdentityColumns = Schema.Struct({ ...Identity.fields, contact_id: ContactId })
export type IdentityRow = Row<typeof IdentityColumns.Type>

/** The identity with a network ID, and the columns of its contact that an update of the identity requires. */
export interface KnownIdentity {
  /** The network ID that was looked up. */
  readonly network_id: string
  readonly identity: IdentityRow
  readonly contact: Pick<LoadedContact, "first_name" | "id" | "identities" | "last_name" | "version">
}

// -------------------------------------------------------------- errors

export class ContactNotFound extends Schema.TaggedError<ContactNotFound>()("ContactNotFound", {}) {}

/** The contact does not meet the precondition of the write: it has changed since the caller read it. */
export class ContactChanged extends Schema.TaggedError<ContactChanged>()("ContactChanged", {}) {}

/** A contact needs at least a name, a phone or an email. */
export class ContactUnnamed extends Schema.TaggedError<ContactUnnamed>()("ContactUnnamed", {}) {}

/** A list with filters took longer than a search may. The request is valid; a narrower one takes less time. */
export class SearchTimeout extends Schema.TaggedError<SearchTimeout>()("SearchTimeout", {}) {}

/** The contact has so many notes that no more of this length can be added. */
export class NotesTooLong extends Schema.TaggedError<NotesTooLong>()("NotesTooLong", { limit: Schema.Int }) {}
