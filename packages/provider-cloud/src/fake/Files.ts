/** How the fake network hands out files: by id a link, and by the link the bytes. */
import { Effect, Ref, Schema } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { nextId, refuse, set, type State } from "./State.ts"

export const add = Effect.fnUntraced(function*(state: State, bytes: Uint8Array, mime_type: string) {
  const id = yield* nextId(state, "1003383421387")
  yield* set(state, ({ files }) => ({ files: new Map(files).set(id, { bytes, mime_type }) }))
  return id
})

const Query = Schema.Struct({ fields: Schema.optionalKey(Schema.String) })

/**
 * Answers `GET /{version}/{id}` with a link, which may have expired already; or
 * where fields are asked for, with those of an account: any id is one.
 */
export const linkRoute = (state: State, url: string) =>
  Effect.gen(function*() {
    const { id = "" } = yield* HttpRouter.params
    const { fields } = yield* HttpServerRequest.schemaSearchParams(Query)
    if (fields !== undefined) return HttpServerResponse.jsonUnsafe({ id, [fields]: "Fake" })
    const { expired_links, files } = yield* Ref.get(state)
    yield* set(state, ({ expired_links }) => ({ expired_links: Math.max(0, expired_links - 1) }))
    const file = files.get(id)
    if (file === undefined) return refuse(100)
    return HttpServerResponse.jsonUnsafe({
      messaging_product: "whatsapp",
      id,
      url: `${url}/lookaside/${id}/${expired_links > 0 ? "expired" : "open"}`,
      mime_type: file.mime_type,
      file_size: String(file.bytes.byteLength)
    })
  }).pipe(Effect.catchTag("SchemaError", () => Effect.succeed(refuse(100))))

/** Answers `GET /lookaside/{id}/open` with the file; not at all while files are held. */
export const fileRoute = (state: State) =>
  Effect.gen(function*() {
    const { id = "" } = yield* HttpRouter.params
    const { files, files_held } = yield* Ref.get(state)
    if (files_held) return yield* Effect.never
    const file = files.get(id)
    return file === undefined
      ? HttpServerResponse.empty({ status: 404 })
      : HttpServerResponse.uint8Array(file.bytes, { contentType: file.mime_type })
  })
