/** Tags and channels. */
import { type Channel, ChannelRows, type ChannelType } from "@messaging-crm/core/Channels"
import { ChannelId, type OrganizationId, TagId } from "@messaging-crm/core/Ids"
import { Rows } from "@messaging-crm/core/Rows"
import { type TagColumns, TagRows } from "@messaging-crm/core/Tags"
import { foldCase } from "@messaging-crm/core/Text"
import { Effect, Struct } from "effect"
import { mustCommit, noon, uuid } from "./Base.ts"

/** A tag that is not stored yet. */
export const newTag = (name: string) =>
  Effect.map(uuid, (id): TagColumns => ({
    id: TagId.make(id),
    name,
    color: "red",
    name_key: foldCase(name)
  }))

/** Returns the names of the tags, in the order of the list. */
export const tagNames = (organization_id: OrganizationId) =>
  Rows.use((rows) => Effect.map(rows.list(TagRows, organization_id), (tags) => tags.map(({ name }) => name)))

/** Creates a tag. */
export const tag = Effect.fnUntraced(function*(organization_id: OrganizationId, name: string) {
  const row = yield* newTag(name)
  yield* mustCommit(organization_id, TagRows.insert(row))
  return Struct.omit(row, ["name_key"])
})

/** Inserts the given number of tags in one commit: `tag 0` and so on. Creating them one by one would list the previous ones each time. */
export const tags = Effect.fnUntraced(function*(organization_id: OrganizationId, count: number) {
  const rows = yield* Effect.forEach(Array.from({ length: count }, (_, index) => `tag ${index}`), newTag)
  yield* mustCommit(organization_id, ...rows.map((row) => TagRows.insert(row)))
})

/** Connects a channel. */
export const channel = Effect.fnUntraced(function*(
  organization_id: OrganizationId,
  type: ChannelType = "phone_messaging"
) {
  const id = ChannelId.make(yield* uuid)
  const row: Channel = {
    id,
    type,
    name: "Support",
    address: id,
    phone_messaging_business_account_id: type === "phone_messaging" ? `account-${id}` : null,
    connected_at: noon
  }
  yield* mustCommit(organization_id, ChannelRows.insert(row))
  return row
})
