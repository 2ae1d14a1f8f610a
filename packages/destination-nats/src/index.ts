/** Publishes events to NATS JetStream: the destination of webhooks whose URL is `nats://` and a subject. */
import type { Destination } from "@messaging-crm/core/Destinations"
import { type WebhookRequest, WebhookRequestFailed } from "@messaging-crm/core/WebhookTransport"
import { headers as makeHeaders } from "@nats-io/transport-node"
import { Effect, type Scope } from "effect"
import type { Address } from "./Address.ts"
import { Connection } from "./Connection.ts"
import * as Outcomes from "./Outcomes.ts"
import { rejectionOf, subjectOf } from "./Subjects.ts"

const publish_millis_max = 10_000

/** The client's timeouts end before this one, unless several servers do not respond. */
const attempt_time_max = "15 seconds"

/**
 * Publishes an event, and waits until the stream has stored it. JetStream discards a repeated `Nats-Msg-Id` within the
 * duplicate window of the stream. The ID contains the subject, because one stream can store the subjects of several webhooks.
 */
const publish = async (connection: Connection, { body, headers, url }: WebhookRequest) => {
  const client = await connection.open()
  const subject = subjectOf(url, body)
  const sent = makeHeaders()
  for (const [name, value] of Object.entries(headers)) sent.set(name, value)
  const msgID = `${headers["webhook-id"]}:${subject}`
  return client.publish(subject, body, { msgID, headers: sent, timeout: publish_millis_max })
}

/** Makes the destination. It connects at the first event, and closes the connection with the scope. */
export const make = Effect.fnUntraced(function*(address: Address): Effect.fn.Return<Destination, never, Scope.Scope> {
  const connection = yield* Effect.acquireRelease(
    Effect.sync(() => new Connection(address)),
    (connection) => Effect.promise(() => connection.close())
  )

  const post = (request: WebhookRequest) =>
    Effect.tryPromise({ try: () => publish(connection, request), catch: (error) => ({ error }) }).pipe(
      Effect.matchEffect({ onFailure: ({ error }) => Outcomes.failed(error), onSuccess: Outcomes.stored }),
      Effect.timeoutOrElse({
        duration: attempt_time_max,
        orElse: () => Effect.fail(new WebhookRequestFailed({ failure_code: "timeout" }))
      })
    )

  return { protocol: "nats:", rejectionOf, post }
})
