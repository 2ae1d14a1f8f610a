/** The relations of objects, by which a request about one object becomes a step on another. */
import { textOf } from "../../Responses.ts"
import type { Evidence } from "../Evidence.ts"

/** The relations of objects that the responses show. */
export interface Relations {
  /** The conversation of a channel and an external ID. */
  readonly conversations: ReadonlyMap<string, string>
  /** The contact of a conversation. */
  readonly contacts: ReadonlyMap<string, string>
}

export const relationsOf = ({ observations }: Evidence): Relations => {
  const seen = observations.conversations.map(({ resource }) => ({
    id: textOf(resource, "id") ?? "",
    contact_id: textOf(resource, "contact", "id") ?? "",
    person: `${textOf(resource, "channel", "id")} ${textOf(resource, "contact", "external_id")}`
  }))
  return {
    conversations: new Map(seen.map(({ id, person }) => [person, id])),
    contacts: new Map(seen.map(({ contact_id, id }) => [id, contact_id]))
  }
}
