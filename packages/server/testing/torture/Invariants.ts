/** Rules that every history satisfies, whatever the order in which its calls took effect. */
import type { Call, Check, FinalState, History, Resource, Violation } from "./History.ts"

type Rule = (history: History) => ReadonlyArray<Violation>

const violation = (rule: string, detail: string, calls: ReadonlyArray<Call> = []): Violation => ({
  rule,
  detail,
  calls: calls.map(({ index }) => index)
})

const finals = ({ organizations }: History): ReadonlyArray<FinalState> => organizations.map(({ final }) => final)

const dataOf = ({ answer }: Call): Resource => ((answer?.body as { readonly data?: Resource } | null)?.data ?? {}) // the API's body

const isDone = ({ answer }: Call): boolean => answer !== null && answer.status >= 200 && answer.status < 300

/** Returns the calls of each request: its repetitions have the same key. */
const requests = ({ calls }: History): ReadonlyArray<ReadonlyArray<Call>> =>
  Array.from(
    Map.groupBy(
      calls.filter(({ request }) => request.method !== "GET"),
      ({ index, organization, request }) => `${organization} ${request.idempotency_key ?? index}`
    ).values()
  )

const repeatedIn = (values: ReadonlyArray<string>): ReadonlyArray<string> =>
  Array.from(Map.groupBy(values, (value) => value)).flatMap(([value, { length }]) => length > 1 ? [value] : [])

/** Each accepted message is that of a send that is `sent`, and no send is accepted twice. */
const sends: Rule = (history) => {
  const references = new Set(history.accepted.map(({ reference }) => reference))
  const rule = "A send reaches the network at most once, and is sent exactly if it did (§12.4)."
  const rows = finals(history).flatMap(({ sends }) => sends)
  const known = new Set(rows.map(({ id }) => id))
  return [
    ...repeatedIn(history.accepted.map(({ reference }) => reference)).map((id) =>
      violation(rule, `The network accepted ${id} twice.`)
    ),
    ...history.accepted.filter(({ reference }) => !known.has(reference)).map(({ reference }) =>
      violation(rule, `The network accepted ${reference}, which is not stored.`)
    ),
    ...rows.flatMap(({ failure_reason, id, status }) =>
      (status === "sent") === references.has(String(id)) && (status === "sent" || status === "failed")
        ? []
        : [
          violation(
            rule,
            `${String(id)} is ${String(status)} (${String(failure_reason)}), and the network ${
              references.has(String(id)) ? "accepted" : "did not accept"
            } it.`
          )
        ]
    )
  ]
}

/** Each accepted message and each acknowledged one of a person is stored once. */
const messages: Rule = (history) => {
  const rule = "A message is stored exactly once (§15.1)."
  const counts = history.organizations.map(({ final }) =>
    Map.groupBy(Object.values(final.messages).flat(), ({ provider_message_id }) => String(provider_message_id))
  )
  const expect = (id: string, stored: number) =>
    stored === 1 ? [] : [violation(rule, `${id} is stored ${stored} times.`)]
  return [
    ...history.inbound.flatMap(({ acknowledged_at, organization, provider_message_id }) => {
      const stored = counts[organization]?.get(provider_message_id)?.length ?? 0
      return acknowledged_at === null && stored === 0 ? [] : expect(provider_message_id, stored)
    }),
    ...history.accepted.flatMap(({ provider_message_id }) =>
      expect(provider_message_id, counts.reduce((sum, count) => sum + (count.get(provider_message_id)?.length ?? 0), 0))
    )
  ]
}

/** Each request took effect once if it succeeded, and its answers are equal. */
const idempotency: Rule = (history) =>
  requests(history).flatMap((calls) => {
    const [first] = calls
    const done = calls.filter(isDone)
    const audit = first === undefined ? [] : history.organizations[first.organization]?.final.audit ?? []
    const ids = new Set(calls.map(({ request }) => request.request_id))
    const effects = audit.filter(({ request_id }) => ids.has(String(request_id)))
    // An unchanged answer shows the resource as it is now.
    const changed = done.filter(({ operation }) =>
      /^(contacts\.(create|add_note)|sends\..*|tags\.create)$/.test(operation)
    )
    const isPlain = first !== undefined && first.request.method !== "COMMAND" && first.operation !== "contacts.upsert"
    return [
      ...new Set(changed.map(({ answer }) => answer?.text)).size > 1
        ? [violation("Every retry gets the same bytes (§5.5).", "Two answers differ.", changed)]
        : [],
      ...isPlain && changed.length > 0 && effects.length !== 1
        ? [violation("A request takes effect once (§5).", `The audit has ${effects.length} records of it.`, calls)]
        : [],
      ...isPlain && done.length === 0 && effects.length > 1
        ? [violation("A request takes effect once (§5).", `The audit has ${effects.length} records of it.`, calls)]
        : []
    ]
  })

/** What a successful request created is there at the end. No client deletes or replaces it. */
const durability: Rule = (history) =>
  requests(history).flatMap((calls) => {
    const call = calls.find(isDone)
    if (call === undefined) return []
    const final = history.organizations[call.organization]?.final
    if (final === undefined) return []
    const rule = "No acknowledged write is lost, and none happens twice."
    const id = dataOf(call)["id"]
    const lists: Readonly<Record<string, ReadonlyArray<Resource>>> = {
      "contacts.create": final.contacts,
      "tags.create": final.tags,
      "webhooks.create": final.webhooks,
      "sends.send": final.sends,
      "sends.start": final.sends
    }
    const rows = lists[call.operation]
    if (rows !== undefined && rows.filter((row) => row["id"] === id).length !== 1) {
      return [violation(rule, `${String(id)} is not stored.`, calls)]
    }
    if (call.operation !== "contacts.add_note") return []
    const { text } = call.request.body as { readonly text: string } // as the client sent it
    const notes = String(final.contacts.find((contact) => contact["id"] === id)?.["notes"]).split("\n\n")
    const count = notes.filter((note) => note === text).length
    return count === 1 ? [] : [violation(rule, `The note "${text}" is there ${count} times.`, calls)]
  })

/** Each event reached each webhook that has a delivery for it, always with the same bytes and a valid signature. */
const events: Rule = (history) => {
  const rule = "Every event reaches every subscribed webhook, with the same bytes (§14)."
  const arrived = Map.groupBy(history.received, ({ endpoint, event_id }) => `${endpoint} ${event_id}`)
  const bytes = Map.groupBy(history.received, ({ event_id }) => event_id)
  const owed = finals(history).flatMap(({ deliveries, webhooks }) =>
    webhooks.flatMap(({ id, url }) =>
      (deliveries[String(id)] ?? []).map((delivery) => ({ ...delivery, url: String(url) }))
    )
  )
  return [
    ...owed.flatMap(({ event_id, status, url, failure_code }: Resource & { readonly url: string }) => {
      const posts = arrived.get(`${new URL(url).pathname} ${String(event_id)}`) ?? []
      const isDelivered = posts.some((post) => post.status < 300)
      if (status === "succeeded" && isDelivered) return []
      if (status === "failed" && failure_code === "webhook_disabled") return []
      return [
        violation(
          rule,
          `Event ${String(event_id)} for ${url} is ${String(status)} (${
            String(failure_code)
          }), posted ${posts.length} times.`
        )
      ]
    }),
    ...Array.from(bytes).filter(([, posts]) => new Set(posts.map(({ text }) => text)).size > 1).map(([id]) =>
      violation(rule, `Event ${id} was posted with different bytes.`)
    ),
    ...history.received.filter(({ is_signed }) => is_signed === false).map(({ endpoint, event_id }) =>
      violation(rule, `Event ${event_id} had no valid signature at ${endpoint}.`)
    )
  ]
}

const ranks: Readonly<Record<string, number>> = { failed: 0, sent: 0, delivered: 1, read: 2 }

/** What each read shows of a message or contact is not older than what an earlier one showed. */
const monotony: Rule = ({ calls }) => {
  const seen = new Map<string, { readonly call: Call; readonly value: number }>()
  const reads = calls.filter(isDone).filter(({ answer }) => answer?.is_replay === false)
    .toSorted((one, other) => (one.ended_at ?? 0) - (other.ended_at ?? 0))
  const violations: Array<Violation> = []
  // The highest value among the reads that had ended before this one began.
  const ended: Array<{ readonly key: string; readonly value: number; readonly call: Call }> = []
  const begun = reads.toSorted((one, other) => one.started_at - other.started_at)
  let next = 0
  const valuesOf = (call: Call) =>
    [(call.answer?.body as { readonly data?: Resource | ReadonlyArray<Resource> } | null)?.data ?? []].flat()
      .flatMap((row: Resource) => {
        const key = `${call.organization} ${String(row["id"])}`
        if (row["direction"] === "outbound") return [{ key: `${key} status`, value: ranks[String(row["status"])] ?? 0 }]
        return /^contacts\.(get|list|update)$/.test(call.operation)
          ? [{ key: `${key} updated_at`, value: Date.parse(String(row["updated_at"])) }]
          : []
      })
  for (const call of reads) for (const each of valuesOf(call)) ended.push({ ...each, call })
  for (const call of begun) {
    for (; (ended[next]?.call.ended_at ?? Infinity) < call.started_at; next++) {
      const one = ended[next]
      if (one !== undefined && one.value > (seen.get(one.key)?.value ?? -Infinity)) seen.set(one.key, one)
    }
    for (const { key, value } of valuesOf(call)) {
      const before = seen.get(key)
      if (before !== undefined && value < before.value) {
        violations.push(
          violation("A read shows what an earlier one showed (§8.10, §11.4).", `${key} went back.`, [before.call, call])
        )
      }
    }
  }
  return violations
}

/** A revoked key is rejected at once. */
const revocation: Rule = ({ calls }) => {
  const revoked = calls.filter(({ answer, operation }) => operation === "api_keys.revoke" && answer !== null)
  return revoked.flatMap((revoke) => {
    const { id } = revoke.request.body as { readonly id: string } // as the operator gave it
    const late = calls.filter((call) =>
      call.request.key_id === id && call.started_at > (revoke.ended_at ?? Infinity) && isDone(call)
    )
    return late.length === 0
      ? []
      : [violation("A revoked key is rejected at once (§4.2).", id, [revoke, ...late.slice(0, 1)])]
  })
}

const finished: Rule = ({ unfinished }) =>
  unfinished.length === 0
    ? []
    : [
      violation(
        "Work ends when the faults have ended.",
        `${unfinished.length} items are left: ${unfinished.slice(0, 5).join(", ")}`
      )
    ]

const rules: ReadonlyArray<Rule> = [sends, messages, idempotency, durability, events, monotony, revocation, finished]

export const check: Check = (history) => rules.flatMap((rule) => rule(history))
