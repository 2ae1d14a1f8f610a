import { DateTime, Effect, Layer, Option } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { read, settings } from "../settings/Config.ts"

/** A file without an expiry date, or with one that is more than a year ahead, is invalid. */
const valid_days = 180

const path = "/.well-known/security.txt"

/** Layer for `/.well-known/security.txt` (RFC 9116), if `SECURITY_CONTACT` is set. */
export const layer = Layer.unwrap(Effect.gen(function*() {
  const contact = yield* read(settings.security_contact)
  if (Option.isNone(contact)) return Layer.empty
  const public_url = yield* read(settings.public_url)
  const canonical = Option.match(public_url, { onNone: () => "", onSome: (url) => `Canonical: ${url}${path}\n` })
  return HttpRouter.add(
    "GET",
    path,
    Effect.map(DateTime.now, (now) => {
      const expires = DateTime.formatIso(DateTime.startOf(DateTime.add(now, { days: valid_days }), "day"))
      return HttpServerResponse.text(`Contact: ${contact.value}\nExpires: ${expires}\n${canonical}`, {
        contentType: "text/plain; charset=utf-8"
      })
    })
  )
}))
