/** The messages that the fake Graph API accepted, in the terms of a history. */
import { Effect } from "effect"
import * as Network from "../../../packages/server/testing/processes/Network.ts"
import type { AcceptedMessage } from "../History.ts"
import { listOf, textOf } from "../Responses.ts"

/** Returns the text of the only template that a run sends, with the parameters of a request to the network. */
const templateText = (body: unknown): string => {
  const component = listOf(body, "template", "components").find(({ type }) => type === "body")
  const [name, order] = listOf(component, "parameters").map((parameter) => textOf(parameter, "text"))
  return `Hello ${name}, your order ${order} is ready.`
}

/** Returns the accepted messages, in order. */
export const acceptedMessages = (accepted_url: string) =>
  Effect.map(
    Network.accepted(accepted_url),
    (all) =>
      all.map(({ body, id, recipient, reference, text }): AcceptedMessage => ({
        reference,
        provider_message_id: id,
        recipient: `+${recipient}`,
        text: text ?? templateText(body)
      }))
  )
