/** Concurrent tags, edits, and notes of one contact. */
import { Effect, Ref } from "effect"
import { Processes } from "../Fixtures.ts"
import type * as Service from "../Service.ts"
import { resourceOf, serversOf } from "./Requests.ts"

/** Counts the contacts that lack an acknowledged tag, edit, or note afterward. */
export const lostUpdates = Effect.fnUntraced(function*(cluster: Service.Cluster, rounds: number) {
  const { key } = cluster.acme
  const next = serversOf(cluster)
  const request = (method: "GET" | "PATCH" | "POST", path: string, name: string, json?: unknown) =>
    Processes.request(next(), method, path, { key, ...(json === undefined ? {} : { json, idempotency_key: name }) })
  const tag = yield* Effect.flatMap(request("POST", "/tags", "tag-of-all", { name: "a", color: "red" }), resourceOf)
  const lost = yield* Ref.make(0)
  const rejected = yield* Ref.make(0)
  const round = Effect.fnUntraced(function*(number: number) {
    const { id } = yield* Effect.flatMap(
      request("POST", "/contacts", `the-contact-${number}`, { first_name: "A" }),
      resourceOf
    )
    const responses = yield* Effect.all([
      request("PATCH", `/contacts/${id}`, `the-tags-${number}`, { tag_ids: [tag.id] }),
      request("PATCH", `/contacts/${id}`, `the-edit-${number}`, { company: "Brick" }),
      request("POST", `/contacts/${id}/notes`, `the-note-${number}`, { text: "called" })
    ], { concurrency: "unbounded" })
    yield* Ref.update(rejected, (count) => count + responses.filter(({ status }) => status >= 400).length)
    const contact = yield* Effect.flatMap(request("GET", `/contacts/${id}`, ""), resourceOf)
    const kept = [contact.tags?.length === 1, contact.company === "Brick", contact.notes === "called"]
    const isWhole = responses.every(({ status }, index) => status >= 400 || kept[index] === true)
    if (!isWhole) yield* Ref.update(lost, (count) => count + 1)
  })
  yield* Effect.forEach(Array.from({ length: rounds }, (_, number) => number), round, {
    concurrency: 8,
    discard: true
  })
  return { rounds, lost: yield* Ref.get(lost), rejected: yield* Ref.get(rejected) }
})
