/** The rules of contract §8.2, §10.1, and §15 for contacts: one contact per identity, one conversation per channel, and no lost message. */
import type { Violation } from "../../History.ts"
import { listOf, textOf } from "../../Responses.ts"
import type { Evidence } from "../Evidence.ts"
import { isCompleted } from "../Requests.ts"

/** Each value has one owner. */
const checkUnique = (
  rule: string,
  owned: ReadonlyArray<{ readonly value: string; readonly owner: string; readonly call: number | null }>
): ReadonlyArray<Violation> =>
  Array.from(Map.groupBy(owned, ({ value }) => value), ([value, all]): ReadonlyArray<Violation> => {
    const owners = Array.from(new Map(all.map((one) => [one.owner, one])).values())
    return owners.length <= 1 ? [] : [{
      rule,
      detail: `${value}: ${owners.map(({ owner }) => owner).join(" and ")}`,
      calls: owners.flatMap(({ call }) => call ?? [])
    }]
  }).flat()

const checkIdentities = ({ observations: { contacts, conversations, sends } }: Evidence): ReadonlyArray<Violation> => [
  ...checkUnique(
    "An identity has one contact (contract §8.2).",
    contacts.flatMap(({ call, organization, resource }) =>
      listOf(resource, "identities").map(({ channel_type, external_id }) => ({
        value: `${organization} ${channel_type} ${external_id}`,
        owner: String(resource["id"]),
        call
      }))
    )
  ),
  ...checkUnique(
    "There is one conversation for a channel and an identity (contract §10.1).",
    conversations.map(({ call, resource }) => ({
      value: `${textOf(resource, "channel", "id")} ${textOf(resource, "contact", "external_id")}`,
      owner: String(resource["id"]),
      call
    }))
  ),
  ...checkUnique(
    "A send has one conversation (contract §12.1).",
    sends.map(({ call, resource }) => ({
      value: String(resource["id"]),
      owner: String(resource["conversation_id"]),
      call
    }))
  )
]

/** The message of an acknowledged callback is stored once, even if the callback was repeated (contract §15.1). */
const checkInbound = ({ history: { inbound, organizations } }: Evidence): ReadonlyArray<Violation> =>
  organizations.flatMap(({ final }, organization) => {
    const channels = new Map(final.conversations.map((one) => [one["id"], textOf(one, "channel", "id")]))
    const stored = Map.groupBy(
      Object.values(final.messages).flat(),
      ({ conversation_id, provider_message_id }) => `${channels.get(conversation_id)} ${provider_message_id}`
    )
    const keyOf = (message: typeof inbound[number]) => `${message.channel_id} ${message.provider_message_id}`
    const own = Map.groupBy(inbound.filter((message) => message.organization === organization), keyOf)
    return Array.from(own, ([key, same]): ReadonlyArray<Violation> => {
      const count = stored.get(key)?.length ?? 0
      const isRequired = same.some(({ acknowledged_at }) => acknowledged_at !== null)
      return count <= 1 && (count === 1 || !isRequired) ? [] : [{
        rule: "An inbound message that was acknowledged is stored once (contract §15.1).",
        detail: `${key} is stored ${count} times`,
        calls: []
      }]
    }).flat()
  })

/** Every object of a response exists at the end, because the API deletes none (contract §7.2). */
const checkLostObjects = ({ history: { organizations }, observations }: Evidence): ReadonlyArray<Violation> =>
  organizations.flatMap(({ final }, organization) =>
    (["contacts", "conversations", "sends", "webhooks"] as const)
      .flatMap((kind) => {
        const stored = new Set(final[kind].map(({ id }) => id))
        const own = observations[kind].filter((observation) => observation.organization === organization)
        const lost = own.filter(({ resource }) => !stored.has(resource["id"]))
        return Array.from(new Map(lost.map((one) => [one.resource["id"], one])).values(), ({ call, resource }) => ({
          rule: "Objects in responses are not lost (contract §7.2).",
          detail: `${kind}: ${resource["id"]} is not stored`,
          calls: call === null ? [] : [call]
        }))
      })
  )

/** Later reads find each message and send of a response. */
const checkReads = ({ history: { calls }, observations }: Evidence): ReadonlyArray<Violation> => {
  const firstShown = new Map<string, number>()
  for (const { ended_at, resource } of [...observations.messages, ...observations.sends]) {
    const id = String(resource["id"])
    firstShown.set(id, Math.min(ended_at, firstShown.get(id) ?? Infinity))
  }
  return calls.filter(isCompleted).flatMap(({ response, index, operation, request: { path }, started_at }) => {
    const isRead = operation === "messages.get" || operation === "sends.get"
    const since = firstShown.get(path.split("/").at(-1) ?? "") ?? Infinity
    return isRead && response.status === 404 && since < started_at
      ? [{ rule: "Objects in responses are found by later reads (contract §7.2).", detail: path, calls: [index] }]
      : []
  })
}

export const check = (evidence: Evidence): ReadonlyArray<Violation> => [
  ...checkIdentities(evidence),
  ...checkInbound(evidence),
  ...checkLostObjects(evidence),
  ...checkReads(evidence)
]
