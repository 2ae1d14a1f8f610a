/** The changes of a person's IDs that callbacks of WhatsApp report. */
import type { IdentityChanged } from "@messaging-crm/core/Inbound"
import { Option, Schema } from "effect"
import { type Ids, networkIdsOf } from "../../PersonIds.ts"
import { type System, UserIdUpdate } from "../PersonFields.ts"
import { isPersonWith, type NamedPerson, personWith } from "./People.ts"

const decodeUserIdUpdate = Schema.decodeUnknownOption(Schema.Struct(UserIdUpdate))

type IdChange = Pick<IdentityChanged, "event" | "former_aliases" | "former_external_id" | "now">

/** Returns the change of a person's IDs, or none unless a former ID and a new one are known. */
const idChange = (former: Ids, current: Ids, named?: NamedPerson): Option.Option<IdChange> => {
  const ids = networkIdsOf(current)
  const [former_external_id, ...former_aliases] = networkIdsOf(former).filter((id) => !ids.includes(id))
  if (former_external_id === undefined) return Option.none()
  return Option.map(personWith(current, named), (now) => ({
    event: "identity_changed",
    former_external_id,
    ...(former_aliases.length === 0 ? {} : { former_aliases }),
    now
  }))
}

/**
 * Returns the change that a system message reports.
 *
 * If the message names a new number, `from` is the former one. If it names a new user ID and no former one, `from_user_id`
 * is the former one. If it names no new user ID, the person keeps the ID in `from_user_id`.
 */
export const systemChange = (
  { from, from_user_id }: { readonly from?: string; readonly from_user_id?: string },
  { customer, new_wa_id, parent_user_id, previous_parent_user_id, previous_user_id, user_id, wa_id }: typeof System.Type
): Option.Option<IdChange> => {
  const number = wa_id ?? new_wa_id
  const formerUserId = previous_user_id ?? (user_id === undefined ? undefined : from_user_id)
  const userId = user_id ?? (from_user_id === formerUserId ? undefined : from_user_id)
  return idChange(
    [number === undefined ? undefined : from ?? customer, formerUserId, previous_parent_user_id],
    [number, userId, parent_user_id]
  )
}

/** Returns the change that an update of a user ID reports. The people whom its change names have the current number. */
export const userIdChange = (item: unknown, people: ReadonlyArray<NamedPerson>): Option.Option<IdChange> =>
  Option.flatMap(decodeUserIdUpdate(item), ({ parent_user_id: parent, previous_user_id, user_id, wa_id }) => {
    const ids = typeof user_id === "object" ? user_id : { previous: undefined, current: user_id }
    const named = people.find(isPersonWith(networkIdsOf([wa_id, ids.current]), people.length === 1))
    return idChange(
      [previous_user_id ?? ids.previous, parent?.previous],
      [wa_id ?? named?.wa_id, ids.current ?? named?.user_id, parent?.current],
      named
    )
  })
