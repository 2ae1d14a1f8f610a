/** The steps of inbound messages. */
import type { Evidence } from "../Evidence.ts"
import { type ObjectStep, stepsOn } from "./ObjectSteps.ts"
import type { Relations } from "./Relations.ts"

/** Returns a step for each inbound message, which opens its conversation at some time after the network reported it. */
export const inboundSteps = (
  { history: { inbound }, observations }: Evidence,
  { conversations }: Relations
): ReadonlyArray<ObjectStep> => {
  const action = { call: null, name: "open", body: null, outcome: null } as const
  const opening = (started_at: number) => ({ started_at, ended_at: null, action })
  const reported = new Set<unknown>()
  const ofClients = inbound.flatMap(({ channel_id, from, provider_message_id, started_at }) => {
    if (reported.has(provider_message_id)) return []
    reported.add(provider_message_id)
    return stepsOn("conversations", conversations.get(`${channel_id} ${from}`), opening(started_at))
  })
  // The network replies to some messages on its own.
  const ofNetwork = observations.messages.flatMap(({ call, resource }) => {
    const { conversation_id, direction, provider_message_id } = resource
    return call !== null || direction !== "inbound" || reported.has(provider_message_id)
      ? []
      : stepsOn("conversations", String(conversation_id), opening(0))
  })
  return [...ofClients, ...ofNetwork]
}
