/** The callbacks of the Graph API that benchmarks post. */
import { Effect, Schema } from "effect"
import { createHmac } from "node:crypto"
import { CallbackBodies, type Processes } from "../harness/Fixtures.ts"

/** A body with the value of its signature header. */
export interface Callback {
  readonly body: Buffer
  readonly signature: string
}

/** Makes a function that signs a body with an app's secret. */
const signerOf = (secret: string) => (text: string): Callback => {
  const body = Buffer.from(text)
  return { body, signature: `sha256=${createHmac("sha256", secret).update(body).digest("hex")}` }
}

const Accounts = Schema.fromJsonString(Schema.Struct({
  apps: Schema.NonEmptyArray(Schema.Struct({ secret: Schema.String })),
  channels: Schema.NonEmptyArray(Schema.Struct({ phone_number_id: Schema.String }))
}))

/** Returns the account of the servers with an environment, and the function that signs its callbacks. */
export const accountOf = Effect.fnUntraced(function*(environment: Processes.Environment) {
  const { apps: [app], channels: [channel] } = yield* Schema.decodeUnknownEffect(Accounts)(
    environment["CLOUD_ACCOUNTS"]
  )
  return { account: channel.phone_number_id, sign: signerOf(app.secret) }
})

/** Returns an entry of the most frequent kinds: for each inbound message, three statuses of a message that another system sent. */
const entryAt = (phone_number_id: string, index: number) => {
  const at = Math.floor(Date.now() / 1000)
  const person = `49151${String(10_000_000 + index % 5000).padStart(8, "0")}`
  return index % 4 === 0
    ? CallbackBodies.messageEntry(phone_number_id, { wa_id: person, name: "Ana Lima" }, {
      id: `wamid.${index}`,
      timestamp: String(at),
      type: "text",
      text: { body: `Message ${index} 👋` }
    })
    : CallbackBodies.statusEntry(phone_number_id, {
      id: `wamid.sent.${index - index % 4}`,
      status: (["sent", "delivered", "read"] as const)[index % 4 - 1] ?? "read",
      timestamp: at,
      recipient_id: person,
      reference: null
    })
}

/** Returns a body with some entries. */
export const bodyAt = (phone_number_id: string, index: number, entries = 1): string =>
  CallbackBodies.bodyOf(Array.from({ length: entries }, () => entryAt(phone_number_id, index)))

/** Returns the number of messages in a number of posts: the first of four is a message, the others are its statuses. */
export const messagesIn = (posts: number): number => Math.ceil(posts / 4)
