/** Concurrent tags, edits, and notes of one contact. */
import { Effect } from "effect"
import { Api } from "../harness/Fixtures.ts"
import type * as Service from "../harness/Service.ts"
import { resourceOf, serversOf } from "./Requests.ts"

type Request = (
  method: "GET" | "PATCH" | "POST",
  path: string,
  idempotency_key: string,
  json?: unknown
) => ReturnType<typeof Api.request>

/** Tags, edits, and annotates a new contact concurrently. Returns the number of rejections, and whether an update is lost. */
const updateConcurrently = Effect.fnUntraced(function*(request: Request, tag_id: string, number: number) {
  const create = request("POST", "/contacts", `the-contact-${number}`, { first_name: "A" })
  const { id } = yield* Effect.flatMap(create, resourceOf)
  const responses = yield* Effect.all([
    request("PATCH", `/contacts/${id}`, `the-tags-${number}`, { tag_ids: [tag_id] }),
    request("PATCH", `/contacts/${id}`, `the-edit-${number}`, { company: "Brick" }),
    request("POST", `/contacts/${id}/notes`, `the-note-${number}`, { text: "called" })
  ], { concurrency: "unbounded" })
  const contact = yield* Effect.flatMap(request("GET", `/contacts/${id}`, ""), resourceOf)
  const isStored = [contact.tags?.length === 1, contact.company === "Brick", contact.notes === "called"]
  return {
    rejected: responses.filter(({ status }) => status >= 400).length,
    is_lost: responses.some(({ status }, index) => status < 400 && isStored[index] !== true)
  }
})

/** Counts the contacts that lack an acknowledged tag, edit, or note afterward. */
export const lostUpdates = Effect.fnUntraced(function*(cluster: Service.Cluster, rounds: number) {
  const { key } = cluster.acme
  const nextServer = serversOf(cluster)
  const request: Request = (method, path, idempotency_key, json) =>
    Api.request(nextServer(), method, path, { key, ...(json === undefined ? {} : { json, idempotency_key }) })
  const tag = yield* Effect.flatMap(request("POST", "/tags", "tag-of-all", { name: "a", color: "red" }), resourceOf)
  const results = yield* Effect.forEach(
    Array.from({ length: rounds }, (_, number) => number),
    (number) => updateConcurrently(request, tag.id, number),
    { concurrency: 8 }
  )
  return {
    rounds,
    lost: results.filter(({ is_lost }) => is_lost).length,
    rejected: results.reduce((sum, { rejected }) => sum + rejected, 0)
  }
})
