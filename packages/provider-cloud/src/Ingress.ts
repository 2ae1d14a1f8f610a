/**
 * Ingress: the endpoint for the networks' callbacks, one for all three channel types.
 *
 * A body is parsed only after its signature is verified. The response is 200 once the body is stored in the
 * callback inbox, which any process can process. If it cannot be stored, the response is 500, and the network
 * repeats the callback.
 */
import { CallbackInbox } from "@messaging-crm/core/CallbackInbox"
import { equalConstantTime } from "@messaging-crm/core/Secrets"
import { ByteSize, Effect, Option, Redacted, Schema } from "effect"
import { HttpIncomingMessage, HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { type BodyPart, groupByAccount, split } from "./Callback.ts"
import { CloudAccounts, type CloudApp } from "./CloudAccounts.ts"
import { isSignature, makeReader, signature_header, verify } from "./SignedBodies.ts"

/** The path of the endpoint. */
export const path = "/ingress/graph"

/** The maximum size of a body. The networks put up to a thousand items into one, and document a maximum of 3 MB. */
export const body_bytes_max = 4 * 1024 * 1024

const respond = (status: number, text: string) =>
  HttpServerResponse.text(text, { status, headers: { "x-content-type-options": "nosniff" } })

const invalidSignature = respond(401, "The signature is invalid.")
const tooLarge = respond(413, "The body is larger than 4 MiB.")
const busy = HttpServerResponse.setHeader(
  respond(503, "Too many callbacks are in progress. Retry after 1 s."),
  "retry-after",
  "1"
)

/** The maximum number of bytes of unverified bodies in a process. */
export const unverified_bytes_max = 4 * body_bytes_max

/** The maximum number of accounts of one body that are looked up at once. */
const accounts_at_once = 8

const Handshake = Schema.Struct({
  "hub.mode": Schema.Literal("subscribe"),
  "hub.verify_token": Schema.String,
  "hub.challenge": Schema.String.check(Schema.isMaxLength(1000))
})

type Accounts = CloudAccounts["Service"]

/** Responds to the registration of the callback URL: returns the challenge if the verify token is that of an app. */
const handshake = ({ apps }: Accounts) =>
  HttpServerRequest.schemaSearchParams(Handshake).pipe(
    Effect.flatMap((query) =>
      Effect.map(apps, (known) =>
        known.some(({ verify_token }) =>
            equalConstantTime(Redacted.value(verify_token), query["hub.verify_token"])
          )
          ? respond(200, query["hub.challenge"])
          : respond(403, "The verify token is not valid."))
    ),
    Effect.catchTag("SchemaError", () => Effect.succeed(respond(403, "The request is not a subscription.")))
  )

/** Returns the app whose secret signed a body, or none if the signature is invalid. */
const signerOf = Effect.fnUntraced(function*({ apps }: Accounts, body: ArrayBuffer, signature: string) {
  const known = yield* apps
  const isSigner = yield* Effect.forEach(known, ({ secret }) => verify(secret, body, signature))
  return Option.fromUndefinedOr(known.find((_, index): boolean => isSigner[index] === true))
})

/** Returns the parts with their channels. The channel of an account is looked up once. */
const withChannels = (accounts: Accounts, app_id: string, parts: ReadonlyArray<BodyPart>) =>
  Effect.forEach(
    groupByAccount(parts),
    Effect.fnUntraced(function*(partsOfAccount) {
      const account = partsOfAccount[0]?.account ?? null
      const channel_id = account === null ? null : Option.getOrNull(yield* accounts.channelOfKey(app_id, account))
      return partsOfAccount.map(({ body, people }) => ({ channel_id, people, body }))
    }),
    { concurrency: accounts_at_once }
  )

/** Layer for `GET` and `POST /ingress/graph`. */
export const layer = HttpRouter.use(Effect.fnUntraced(function*(router) {
  const accounts = yield* CloudAccounts
  const inbox = yield* CallbackInbox
  const readUnverified = makeReader({ body_bytes_max, total_bytes_max: unverified_bytes_max })

  const storeParts = Effect.fnUntraced(function*({ id }: CloudApp, body: ArrayBuffer) {
    const parts = split(new Uint8Array(body))
    if (Option.isNone(parts)) return respond(400, "The body is not a callback.")
    yield* inbox.store(id, (yield* withChannels(accounts, id, parts.value)).flat())
    return respond(200, "ok")
  })

  const respondToCallback = Effect.gen(function*() {
    const request = yield* HttpServerRequest.HttpServerRequest
    const signature = request.headers[signature_header] ?? ""
    if (!isSignature(signature)) return invalidSignature
    if (Number(request.headers["content-length"] ?? 0) > body_bytes_max) return tooLarge
    const signed = yield* readUnverified(
      request,
      (body) => Effect.map(signerOf(accounts, body, signature), Option.map((app) => ({ app, body })))
    )
    return yield* Option.match(signed, {
      onNone: () => Effect.succeed(invalidSignature),
      onSome: ({ app, body }) => storeParts(app, body)
    })
  }).pipe(
    Effect.provideService(HttpIncomingMessage.MaxBodySize, ByteSize.bytes(body_bytes_max)),
    Effect.catchTags({
      BodyTooLarge: () => Effect.succeed(tooLarge),
      Busy: () => Effect.succeed(busy),
      // The error is either a broken connection, which gets no response, or a body without a length that is too large.
      HttpServerError: () => Effect.succeed(tooLarge)
    })
  )

  yield* router.add("GET", path, handshake(accounts))
  yield* router.add("POST", path, respondToCallback)
}))
