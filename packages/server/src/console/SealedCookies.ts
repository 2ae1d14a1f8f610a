/**
 * Cookies that only this service can read and make: encrypted JSON Web Tokens (JWE, A256GCM) with an expiry.
 *
 * The prefix `__Host-` makes browsers accept a cookie only over TLS, from this host, and for all of it, so that no other
 * host, such as a subdomain, can set one.
 */
import { Data, Duration, Effect, Redacted, Schema } from "effect"
import { HttpServerResponse } from "effect/http"
import { EncryptJWT, jwtDecrypt } from "jose"

/** The keys of cookies: the first one encrypts, and every key decrypts. */
export type Keys = ReadonlyArray<Redacted.Redacted<Uint8Array>>

/** The longest accepted text. A longer one is not decrypted. */
const text_chars_max = 3600

const algorithms = { keyManagementAlgorithms: ["dir"], contentEncryptionAlgorithms: ["A256GCM"] }

const attributes = { httpOnly: true, secure: true, sameSite: "lax", path: "/" } as const

/** No key decrypts the text, or it has expired, or is for another purpose. */
class NotOpened extends Data.TaggedError("NotOpened") {}

interface Options<Content> {
  /** The end of the cookie's name. A cookie is valid under its own name only. */
  readonly purpose: string
  readonly schema: Schema.Codec<Content, unknown>
  readonly time: Duration.Duration
  readonly keys: Keys
  /** The origin of the service. A cookie of another one is not valid, even with the same key. */
  readonly origin: string
}

/** Makes the functions that read and set one cookie. */
export const make = <Content>({ keys, origin, purpose, schema, time }: Options<Content>) => {
  const name = `__Host-messaging-crm-${purpose}`
  const encode = Schema.encodeEffect(schema)
  const decode = Schema.decodeUnknownEffect(schema)
  const claims = { audience: purpose, issuer: origin, requiredClaims: ["exp"] }

  const openWith = (text: string, key: Redacted.Redacted<Uint8Array>, now: Date) =>
    Effect.tryPromise({
      try: () => jwtDecrypt(text, Redacted.value(key), { ...algorithms, ...claims, currentDate: now }),
      catch: () => new NotOpened()
    })

  /** Returns the content of the cookie; none if it is absent, forged, or expired. */
  const read = Effect.fnUntraced(
    function*(cookies: Readonly<Record<string, string>>) {
      const text = cookies[name] ?? ""
      if (text === "" || text.length > text_chars_max) return yield* new NotOpened()
      const now = new Date(yield* Effect.clockWith(({ currentTimeMillis }) => currentTimeMillis))
      const { payload } = yield* Effect.firstSuccessOf(keys.map((key) => openWith(text, key, now)))
      return yield* decode(payload["content"])
    },
    Effect.option
  )

  const seal = Effect.fnUntraced(function*(content: Content) {
    const key = keys[0]
    if (key === undefined) return yield* Effect.die(new Error("There is no key."))
    const millis = yield* Effect.clockWith(({ currentTimeMillis }) => currentTimeMillis)
    const token = new EncryptJWT({ content: yield* Effect.orDie(encode(content)) })
      .setProtectedHeader({ alg: "dir", enc: "A256GCM" })
      .setAudience(purpose)
      .setIssuer(origin)
      .setExpirationTime(new Date(millis + Duration.toMillis(time)))
    return yield* Effect.promise(() => token.encrypt(Redacted.value(key)))
  })

  /** Adds the cookie to a response. */
  const set = (content: Content) => (response: HttpServerResponse.HttpServerResponse) =>
    Effect.map(
      seal(content),
      (text) => HttpServerResponse.setCookieUnsafe(response, name, text, { ...attributes, maxAge: time })
    )

  /** Removes the cookie from the browser. */
  const remove = (response: HttpServerResponse.HttpServerResponse) =>
    HttpServerResponse.setCookieUnsafe(response, name, "", { ...attributes, maxAge: 0 })

  return { read, remove, set, isSent: (cookies: Readonly<Record<string, string>>) => name in cookies }
}
