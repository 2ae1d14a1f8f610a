/** Tags and channels. */
import { type Channel, ChannelRows, type ChannelType } from "@messaging-crm/core/Channels"
import { ChannelId, type OrganizationId, TagId } from "@messaging-crm/core/Ids"
import { type Tag, TagRows, TagStore } from "@messaging-crm/core/Tags"
import { foldCase } from "@messaging-crm/core/Text"
import { Effect } from "effect"
import { noon, uuid, write } from "./Base.ts"

/** A tag that is not stored yet. */
export const newTag = (name: string) =>
  Effect.map(uuid, (id): Tag & { readonly name_key: string } => ({
    id: TagId.make(id),
    name,
    color: "red",
    name_key: name
  }))

/** Returns the names of the tags, in the order of the list. */
export const tagNames = (organization_id: OrganizationId) =>
  TagStore.use((store) => Effect.map(store.list(organization_id), (tags) => tags.map(({ name }) => name)))

/** Creates a tag. */
export const tag = Effect.fnUntraced(function*(organization_id: OrganizationId, name: string) {
  const row: Tag = { id: TagId.make(yield* uuid), name, color: "red" }
  yield* write(organization_id, TagRows.insert({ ...row, name_key: foldCase(name) }))
  return row
})

/** Inserts the given number of tags in one commit: `tag 0` and so on. Creating them one by one would list the previous ones each time. */
export const tags = Effect.fnUntraced(function*(organization_id: OrganizationId, count: number) {
  const ids = yield* Effect.replicateEffect(uuid, count)
  const tagOf = (id: string, index: number) =>
    TagRows.insert({ id: TagId.make(id), name: `tag ${index}`, name_key: `tag ${index}`, color: "red" })
  yield* write(organization_id, ...ids.map(tagOf))
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
  yield* write(organization_id, ChannelRows.insert(row))
  return row
})
