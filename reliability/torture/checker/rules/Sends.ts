/** The rules of contract §12 for sends: each reaches the network once, in order, and ends. */
import type { Resource, Violation } from "../../History.ts"
import { isSuccess, textOf } from "../../Responses.ts"
import type { Evidence } from "../Evidence.ts"
import { type Request } from "../Requests.ts"

interface Accepted {
  readonly request: Request
  readonly id: string
  readonly conversation_id: string
  readonly position: number
}

/** Sends of one conversation reach the network in the order of their acceptance, except after an uncertain send. */
const checkOrder = ({ history, requests }: Evidence): ReadonlyArray<Violation> => {
  const uncertain = new Set(history.organizations.flatMap(({ final }) => final.uncertain_sends))
  const positions = new Map(history.accepted.map(({ reference }, position) => [reference, position]))
  const accepted = requests.flatMap((request): ReadonlyArray<Accepted> => {
    const [first] = request.outcomes
    const id = textOf(first?.response.body, "data", "id")
    const conversation_id = textOf(first?.response.body, "data", "conversation_id")
    const position = positions.get(id ?? "")
    if (!request.call.operation.startsWith("sends.") || id === null || conversation_id === null) return []
    return position === undefined ? [] : [{ request, id, conversation_id, position }]
  })
  return Array.from(Map.groupBy(accepted, ({ conversation_id }) => conversation_id).values(), (same) => {
    const sent = same.toSorted((a, b) => a.position - b.position)
    for (const [index, earlier] of sent.entries()) {
      const overtaken = sent.slice(index + 1).find((later) => {
        if (uncertain.has(later.id)) return false
        const [response] = later.request.outcomes
        const [attempt] = earlier.request.attempts
        return response !== undefined && attempt !== undefined && response.ended_at < attempt.started_at
      })
      if (overtaken === undefined) continue
      return [{
        rule: "Sends of one conversation reach the network in the order of their acceptance (contract §12.5).",
        detail: `${earlier.id} reached it before ${overtaken.id}`,
        calls: [overtaken, earlier].flatMap(({ request: { outcomes } }) =>
          outcomes.slice(0, 1).map(({ index }) => index)
        )
      }]
    }
    return []
  }).flat()
}

/** Every send of a response exists at the end. It reached the network once if it is `sent`, and otherwise never. */
const checkAcceptance = ({ history, requests }: Evidence): ReadonlyArray<Violation> => {
  const times = Map.groupBy(history.accepted, ({ reference }) => reference)
  const sends = new Map(history.organizations.flatMap(({ final }) => final.sends.map((send) => [send["id"], send])))
  const acknowledged = new Map(requests.flatMap(({ call, outcomes: [first] }) => {
    const id = textOf(first?.response.body, "data", "id")
    const isSend = call.operation === "sends.send" || call.operation === "sends.start"
    return isSend && first !== undefined && isSuccess(first.response) && id !== null ? [[id, first.index] as const] : []
  }))
  const isPending = ({ status }: Resource) => status === "queued" || status === "sending" || status === "unknown"
  const violation = (rule: string, id: string, detail: string): Violation => {
    const call = acknowledged.get(id)
    return { rule, detail: `the send ${id} ${detail}`, calls: call === undefined ? [] : [call] }
  }
  return [
    ...Array.from(
      times,
      ([id, accepted]) =>
        accepted.length === 1
          ? []
          : violation("No send reaches the network twice (contract §12.7).", id, `reached it ${accepted.length} times`)
    ).flat(),
    ...Array.from(times.keys()).flatMap((id) =>
      sends.has(id) ? [] : violation("Only accepted sends reach the network (contract §12).", id, "is not stored")
    ),
    ...Array.from(acknowledged.keys()).flatMap((id) =>
      sends.has(id) ? [] : violation("A send that was acknowledged is not lost (contract §12.4).", id, "is not stored")
    ),
    ...Array.from(sends.values()).flatMap((send) => {
      const [id, isAccepted] = [String(send["id"]), times.has(String(send["id"]))]
      if (isPending(send)) return violation("Every send ends (contract §12.4).", id, `is ${send["status"]} at the end`)
      if ((send["status"] === "sent") === isAccepted) return []
      return violation(
        "A send is sent if and only if the network accepted it (contract §12.4).",
        id,
        `is ${send["status"]} ${send["failure_reason"] ?? ""} and was ${isAccepted ? "" : "not "}accepted`
      )
    })
  ]
}

export const check = (evidence: Evidence): ReadonlyArray<Violation> => [
  ...checkOrder(evidence),
  ...checkAcceptance(evidence)
]
