/** Chooses the rows to which a command applies. */
import { ContactId, ConversationId, MemberId } from "@messaging-crm/core/Ids"
import { DateTime } from "effect"
import type { Choice } from "./Commands.ts"
import type { ModelScene } from "./ModelScene.ts"
import { Name } from "./Names.ts"
import type { Organization } from "./State.ts"

export const unknownId = "00000000-0000-7000-8000-000000000000"

/** Returns the ID of the chosen row, and the row itself when it is ours. */
export const choose = <A extends { readonly id: Name | string }>(
  { names, ours, theirs }: ModelScene,
  { index, whose }: Choice,
  rowsOf: (organization: Organization) => ReadonlyArray<A>
) => {
  const rows = whose === "unknown" ? [] : rowsOf(whose === "ours" ? ours : theirs)
  const row = rows[index % rows.length]
  const id = row === undefined ? unknownId : row.id instanceof Name ? names.idOf(row.id) : row.id
  return { id, row: whose === "ours" ? row : undefined }
}

/** Chooses a row of ours instead of theirs, because a provider reports to the organization that owns the row. */
export const notTheirs = ({ index, whose }: Choice): Choice => ({ index, whose: whose === "theirs" ? "ours" : whose })

/** Returns a time before the command, or after it for a negative number. */
export const secondsAgo = ({ ours }: ModelScene, seconds: number) => DateTime.subtract(ours.now, { seconds })

export const chooseMember = (scene: ModelScene, choice: Choice | null) =>
  choice === null ? null : MemberId.make(choose(scene, choice, ({ members }) => members).id)

export const chooseContact = (scene: ModelScene, choice: Choice) => {
  const { id, row } = choose(scene, choice, ({ contacts }) => contacts)
  return { id: ContactId.make(id), contact: row }
}

export const chooseConversation = (scene: ModelScene, choice: Choice) => {
  const { id, row } = choose(scene, choice, ({ conversations }) => conversations)
  return { id: ConversationId.make(id), conversation: row }
}
