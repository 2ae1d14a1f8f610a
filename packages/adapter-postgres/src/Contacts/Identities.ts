/**
 * Who a person is on a type of channel, in PostgreSQL.
 *
 * Every name of an identity, its external id and its aliases, is a row under a
 * unique key, and those rows are written first: of several that claim one name
 * at a time, one inserts it and the others wait for its end, and then look again.
 */
import { ChannelType } from "@messaging-crm/core/Channels"
import { type Contact, type ContactStore, Identity, type Who } from "@messaging-crm/core/Contacts"
import { ContactId, IdentityId, OrganizationId } from "@messaging-crm/core/Ids"
import type { UnitOfWork } from "@messaging-crm/core/UnitOfWork"
import { Data, Effect, Option, Schema } from "effect"
import { type SqlClient, SqlSchema } from "effect/sql"

/** A name that leads to somebody, in the order in which it was asked for. */
const Known = Schema.Struct({
  name: Schema.String,
  identity_id: IdentityId,
  contact_id: ContactId,
  external_id: Schema.String,
  display_name: Schema.NullOr(Schema.String),
  username: Schema.NullOr(Schema.String)
})
type Known = typeof Known.Type

const Names = Schema.Struct({
  organization_id: OrganizationId,
  channel_type: ChannelType,
  names: Schema.Array(Schema.String)
})

/** Somebody else claimed one of the names first. */
class NameTaken extends Data.TaggedError("NameTaken") {}

/** What of this needs the rest of the store. */
interface Parts {
  readonly insert: ContactStore["Service"]["insert"]
  readonly transact: UnitOfWork["Service"]["transact"]
}

/** Returns the part of the store that knows people by their names. */
export const make = (
  sql: SqlClient.SqlClient,
  { insert, transact }: Parts
): Pick<ContactStore["Service"], "addAliases" | "claimIdentity" | "renameIdentity"> => {
  const lookUp = SqlSchema.findAll({
    Request: Names,
    Result: Known,
    execute: ({ channel_type, names, organization_id }) =>
      sql`
        SELECT n.name, i.id AS identity_id, i.contact_id, i.external_id, i.display_name, i.username
        FROM identity_names n
        JOIN identities i ON i.organization_id = n.organization_id AND i.id = n.identity_id
        WHERE n.organization_id = ${organization_id}
          AND n.channel_type = ${channel_type}
          AND n.name = ANY(${names}::text[])
        ORDER BY array_position(${names}::text[], n.name)
      `
  })

  /** Inserts the names that are free, in one order for all, and returns how many those were. */
  const addNames = (
    organization_id: OrganizationId,
    channel_type: ChannelType,
    identity_id: IdentityId,
    names: ReadonlyArray<string>
  ) =>
    sql`
      INSERT INTO identity_names (organization_id, channel_type, name, identity_id)
      SELECT ${organization_id}, ${channel_type}, name, ${identity_id}
      FROM unnest(${names}::text[]) AS name
      ORDER BY name COLLATE "C"
      ON CONFLICT DO NOTHING
      RETURNING name
    `.pipe(Effect.map((added) => added.length), Effect.orDie)

  const insertIdentity = SqlSchema.findOne({
    Request: Schema.Struct({
      organization_id: OrganizationId,
      identity: Identity,
      newcomer_id: ContactId,
      phone: Schema.NullOr(Schema.String)
    }),
    Result: Schema.Struct({ contact_id: ContactId }),
    execute: ({ identity, newcomer_id, organization_id, phone }) =>
      sql`
        INSERT INTO identities (organization_id, id, contact_id, channel_type, external_id, display_name, username)
        VALUES (
          ${organization_id},
          ${identity.id},
          coalesce(
            (
              SELECT id
              FROM contacts
              WHERE organization_id = ${organization_id} AND primary_phone = ${phone}
              ORDER BY updated_at DESC, id DESC
              LIMIT 1
            ),
            ${newcomer_id}
          ),
          ${identity.channel_type},
          ${identity.external_id},
          ${identity.display_name},
          ${identity.username}
        )
        RETURNING contact_id
      `
  })

  /** Makes the identity under all of its names or not at all, with the newcomer's contact if it is theirs. */
  const introduce = (
    organization_id: OrganizationId,
    identity: Identity,
    newcomer: Contact,
    names: ReadonlyArray<string>
  ) =>
    Effect.gen(function*() {
      const added = yield* addNames(organization_id, identity.channel_type, identity.id, names)
      if (added < names.length) return yield* new NameTaken()
      const row = { organization_id, identity, newcomer_id: newcomer.id, phone: newcomer.primary_phone }
      const { contact_id } = yield* Effect.orDie(insertIdentity(row))
      if (contact_id === newcomer.id) yield* insert(organization_id, newcomer)
      const who: Who = { identity_id: identity.id, contact_id }
      return who
    }).pipe(transact)

  /** Keeps what is new about somebody who is known. */
  const refresh = Effect.fnUntraced(function*(
    organization_id: OrganizationId,
    known: Known,
    { display_name, username }: Pick<Identity, "display_name" | "username">
  ) {
    const isNews = (display_name !== null && display_name !== known.display_name) ||
      (username !== null && username !== known.username)
    if (!isNews) return
    yield* sql`
      UPDATE identities
      SET
        display_name = coalesce(${display_name}, display_name),
        username = coalesce(${username}, username)
      WHERE organization_id = ${organization_id} AND id = ${known.identity_id}
    `.pipe(Effect.orDie)
  })

  const claimIdentity: ContactStore["Service"]["claimIdentity"] = Effect.fnUntraced(
    function*(organization_id, identity, newcomer, aliases) {
      const { channel_type, external_id } = identity
      const names = Array.from(new Set([external_id, ...aliases]))
      const found = yield* Effect.orDie(lookUp({ organization_id, channel_type, names }))
      const [known] = found
      if (known === undefined) {
        return yield* Effect.catchTag(
          introduce(organization_id, identity, newcomer, names),
          "NameTaken",
          () => claimIdentity(organization_id, identity, newcomer, aliases)
        )
      }
      if (found.length < names.length) yield* addNames(organization_id, channel_type, known.identity_id, names)
      yield* refresh(organization_id, known, identity)
      return { identity_id: known.identity_id, contact_id: known.contact_id }
    }
  )

  const rename = Effect.fnUntraced(function*(
    organization_id: OrganizationId,
    { channel_type, external_id: former }: Pick<Identity, "channel_type" | "external_id">,
    now: Pick<Identity, "display_name" | "external_id" | "username">
  ) {
    const [known] = yield* Effect.orDie(lookUp({ organization_id, channel_type, names: [former] }))
    if (known === undefined) return Option.none<ContactId>()
    yield* addNames(organization_id, channel_type, known.identity_id, [now.external_id])
    const [owner] = yield* Effect.orDie(lookUp({ organization_id, channel_type, names: [now.external_id] }))
    if (owner?.identity_id !== known.identity_id) return Option.none<ContactId>()
    if (former !== now.external_id) {
      yield* sql`
        DELETE FROM identity_names
        WHERE organization_id = ${organization_id} AND channel_type = ${channel_type} AND name = ${former}
      `.pipe(Effect.orDie)
    }
    yield* sql`
      UPDATE identities
      SET external_id = ${now.external_id}
      WHERE organization_id = ${organization_id} AND id = ${known.identity_id} AND external_id = ${former}
    `.pipe(Effect.orDie)
    yield* refresh(organization_id, known, now)
    return Option.some(known.contact_id)
  })

  return {
    claimIdentity,
    addAliases: (organization_id, channel_type, { identity_id }, aliases) =>
      Effect.asVoid(addNames(organization_id, channel_type, identity_id, aliases)),
    renameIdentity: (organization_id, former, now) => transact(rename(organization_id, former, now))
  }
}
