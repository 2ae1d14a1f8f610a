/** The URLs of webhooks that publish to NATS. */
import { assert, it } from "@effect/vitest"
import { rejectionOf, subjectOf } from "../src/Subjects.ts"

const message = JSON.stringify({ id: "e1", type: "message.received", data: {} })

it("the subject of an event is that of the URL and the event's type", () => {
  assert.strictEqual(subjectOf("nats://crm.acme", message), "crm.acme.message.received")
  assert.strictEqual(subjectOf("nats://Crm_1", message), "Crm_1.message.received")
  assert.strictEqual(subjectOf("nats://crm", JSON.stringify({ type: "a.>" })), "crm.other")
  assert.strictEqual(subjectOf("nats://crm", JSON.stringify({ type: 1 })), "crm.other")
})

it("a URL is accepted only if it is a subject without wildcards", () => {
  for (const url of ["nats://crm", "nats://crm.acme.events", `nats://${"a".repeat(64)}`]) {
    assert.isNull(rejectionOf(url), url)
  }
  const rejected = [
    "nats://",
    "nats://crm.",
    "nats://.crm",
    "nats://crm..acme",
    "nats://crm.>",
    "nats://crm.*",
    "nats://$JS.API",
    "nats://crm/acme",
    "nats://user:password@crm",
    "nats://crm:4222",
    "nats://crm acme",
    "nats://crm\n",
    `nats://${"a".repeat(65)}`,
    `nats://${Array(17).fill("a").join(".")}`
  ]
  for (const url of rejected) assert.match(rejectionOf(url) ?? "", /^The URL must be nats:\/\//, url)
})
