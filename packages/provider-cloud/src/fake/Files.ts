/** How the fake Graph API accepts, returns, and deletes files: by ID a link, and by the link the bytes. */
import { Effect, Option, Ref } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { nextId, reject, set, type StateRef } from "./State.ts"

export const add = Effect.fnUntraced(function*(state: StateRef, bytes: Uint8Array, mime_type: string) {
  const id = yield* nextId(state, "1003383421387")
  yield* set(state, ({ files }) => ({ files: new Map(files).set(id, { bytes, mime_type }) }))
  return id
})

const sha256 = (bytes: Uint8Array): Effect.Effect<string> =>
  Effect.promise(() => globalThis.crypto.subtle.digest("SHA-256", Uint8Array.from(bytes))).pipe(
    Effect.map((digest) => Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join(""))
  )

const absent = (id: string) => reject(100, 400, `There is no object with the ID ${id}.`)

/** Returns a link to a file, which can already have expired. */
export const link = Effect.fnUntraced(function*(state: StateRef, url: string, id: string) {
  const { expired_links, files } = yield* Ref.get(state)
  yield* set(state, ({ expired_links }) => ({ expired_links: Math.max(0, expired_links - 1) }))
  const file = files.get(id)
  if (file === undefined) return absent(id)
  return HttpServerResponse.jsonUnsafe({
    messaging_product: "whatsapp",
    id,
    url: `${url}/lookaside/${id}/${expired_links > 0 ? "expired" : "open"}`,
    mime_type: file.mime_type,
    sha256: yield* sha256(file.bytes),
    file_size: String(file.bytes.byteLength)
  })
})

/** Returns the file of a form. */
const fileOf = Effect.gen(function*() {
  const request = yield* HttpServerRequest.HttpServerRequest
  const body = yield* request.arrayBuffer
  const headers = { "content-type": request.headers["content-type"] ?? "" }
  const form = yield* Effect.tryPromise(() => new Response(body, { headers }).formData())
  const file = form.get("file")
  if (form.get("messaging_product") !== "whatsapp" || !(file instanceof Blob)) return Option.none()
  const type = form.get("type")
  const bytes = new Uint8Array(yield* Effect.tryPromise(() => file.arrayBuffer()))
  return Option.some({ bytes, mime_type: typeof type === "string" && type !== "" ? type : file.type })
})

/** Responds to `POST /{version}/{id}/media` with the ID of the file. */
export const uploadRoute = (state: StateRef) =>
  Effect.gen(function*() {
    const file = yield* fileOf
    if (Option.isNone(file)) return reject(100, 400, "The parameters messaging_product and file are required.")
    return HttpServerResponse.jsonUnsafe({ id: yield* add(state, file.value.bytes, file.value.mime_type) })
  }).pipe(Effect.catch(() => Effect.succeed(reject(100, 400, "The body is not a form."))))

/** Responds to `DELETE /{version}/{id}`. */
export const removeRoute = (state: StateRef) =>
  Effect.gen(function*() {
    const { id = "" } = yield* HttpRouter.params
    const removed = yield* Ref.modify(state, (current) => {
      const files = new Map(current.files)
      return [files.delete(id), { ...current, files }] as const
    })
    return removed ? HttpServerResponse.jsonUnsafe({ success: true }) : absent(id)
  })

/** Responds to `GET /lookaside/{id}/{state}` with the file if the link is open. Does not respond while files are held. */
export const fileRoute = (state: StateRef) =>
  Effect.gen(function*() {
    const { id = "", state: linked } = yield* HttpRouter.params
    const { files, files_held } = yield* Ref.get(state)
    if (files_held) return yield* Effect.never
    const file = linked === "open" ? files.get(id) : undefined
    return file === undefined
      ? HttpServerResponse.text("The link has expired.", { status: 404 })
      : HttpServerResponse.uint8Array(file.bytes, { contentType: file.mime_type })
  })
