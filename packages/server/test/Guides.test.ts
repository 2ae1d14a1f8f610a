/** The tables of the guides agree with the code. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { ReadDeadline } from "@messaging-crm/adapter-http"
import { Contact, WritableContact } from "@messaging-crm/core/Contacts"
import { FailureCode } from "@messaging-crm/core/DeliveryFailure"
import * as Dispatch from "@messaging-crm/core/Dispatch"
import { AnyEventType } from "@messaging-crm/core/Events"
import { limits } from "@messaging-crm/core/Limits"
import { FailureReason } from "@messaging-crm/core/MessagingProvider"
import { SendStatus } from "@messaging-crm/core/Sends"
import { delays } from "@messaging-crm/core/WebhookDeliveries"
import { breaker, disable_after } from "@messaging-crm/core/Webhooks"
import { kind_rules, LeaseTime } from "@messaging-crm/core/WorkQueue"
import * as Mock from "@messaging-crm/provider-mock/Behaviors"
import { Duration, Effect } from "effect"
import { globSync, readFileSync } from "node:fs"
import { versions } from "../../../clients/version.ts"
import { organizationClosed } from "../../adapter-http/src/api/ErrorTexts.ts"
import * as Fake from "../../provider-cloud/src/fake/Behaviors.ts"
import * as Reference from "../scripts/Reference.ts"
import * as Rejections from "../src/http/Rejections.ts"

const contract = readFileSync("docs/contract.md", "utf8")
const webhooks = readFileSync("docs/webhooks.md", "utf8")
const sending = readFileSync("docs/sending.md", "utf8")

/** Returns the first column of the table under a heading, without its code quotes. */
const named = (page: string, heading: string): ReadonlyArray<string> => {
  const table = page.split(heading)[1]?.split("\n\n")[0] ?? ""
  return Array.from(table.matchAll(/^\| `([^`]+)` \|/gm), ([, name = ""]) => name)
}

/** The part of the contract under a heading. */
const section = (heading: string): string => contract.split(`${heading}\n`)[1]?.split(/^#{2,3} /m)[0] ?? ""

interface Body {
  readonly content?: { readonly "application/json"?: { readonly schema: unknown } }
}

interface Operation {
  readonly "x-required-scope": string
  readonly parameters?: ReadonlyArray<{ readonly name: string; readonly required?: boolean }>
  readonly responses: Readonly<Record<string, Body & { readonly $ref?: string }>>
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: {
    readonly responses: Readonly<Record<string, Body>>
    readonly schemas: Readonly<Record<string, unknown>>
  }
}

const document: Document = JSON.parse(readFileSync("packages/adapter-http/openapi.json", "utf8"))

const operationsOf = ({ paths }: Document) =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ name: `${method.toUpperCase()} ${path}`, operation }))
  )

const idempotencyKey = ({ parameters = [] }: Operation) => parameters.find(({ name }) => name === "Idempotency-Key")

/** The error codes that a response of the document can have. */
const codesOf = (response: Body & { readonly $ref?: string }): ReadonlyArray<string> => {
  const text = JSON.stringify(response)
  const references = Array.from(text.matchAll(/#\/components\/(responses|schemas)\/(\w+)/g))
  const codes = Array.from(
    text.matchAll(/"code":\{"type":"string","enum":(\[[^\]]*\])/g),
    ([, list = "[]"]) => JSON.parse(list)
  )
  return [
    ...codes.flat(),
    ...references.flatMap(([, kind = "", name = ""]) =>
      codesOf({
        content: {
          "application/json": {
            schema: kind === "schemas" ? document.components.schemas[name] : document.components.responses[name]
          }
        }
      })
    )
  ]
}

/** A duration as the contract writes it. */
const written = (duration: Duration.Duration): string => {
  const seconds = Duration.toSeconds(duration)
  if (seconds % 3600 === 0) return `${seconds / 3600} h`
  return seconds % 60 === 0 && seconds > 60 ? `${seconds / 60} min` : `${seconds} s`
}

/** Rows of contract §17.2 whose numbers the packages export. */
const numbers: Readonly<Record<string, string>> = {
  "duration of a read": written(ReadDeadline.defaultValue()),
  "call to the provider": written(Dispatch.attempt_time_max),
  "retries of a send": written(Dispatch.retry_time_max),
  "waiting for a paused or throttled channel": written(Dispatch.hold_time_max),
  "unknown outcome": written(Dispatch.UnknownOutcomeTimeout.defaultValue()),
  "lease of queued work": written(LeaseTime.defaultValue()),
  "attempts of a delivery": String(delays.length + 1),
  "attempts at once to a webhook": String(kind_rules.webhook_delivery.cap),
  "pauses of a webhook": `from ${breaker.failures_min} failures; ${written(breaker.pause_min)} to ${
    written(breaker.pause_max)
  }`,
  "disabling of a webhook": `${disable_after.failures_min} failures and ${Duration.toDays(disable_after.time)} days`
}

describe("the guides list", () => {
  it("every reason why a send fails", () => {
    assert.sameMembers([...named(sending, "| `failure_reason` | Cause | Action |\n")], [
      ...FailureReason.literals
    ])
  })

  it("every state of a send", () => {
    assert.deepStrictEqual(named(sending, "| `status` | Meaning |"), SendStatus.literals)
  })

  it("every test number", () => {
    assert.sameMembers(
      [...named(readFileSync("docs/testing.md", "utf8"), "| Ends in | Behavior |\n")],
      Object.keys(Mock.testNumbers)
    )
  })

  it("test numbers that behave alike in the mock provider and in the fake Graph API", () => {
    const mock = Object.entries(Mock.testNumbers).map(([digits, { reply, reports, responses }]) =>
      [digits, { responses: responses.length, reports: ["sent", ...reports], reply }] as const
    )
    const fake = Object.entries(Fake.testNumbers).map(([digits, { reply, responses, statuses }]) =>
      [digits, { responses: responses.length, reports: statuses, reply }] as const
    )
    assert.deepStrictEqual(Object.fromEntries(fake), Object.fromEntries(mock))
  })

  it("every field of a contact that can be written", () => {
    const cells = Array.from(section("### 8.1 Fields").matchAll(/^\| (`[^|]+) \| W \|/gm), ([, cell = ""]) => cell)
    const fields = cells.flatMap((cell) => Array.from(cell.matchAll(/`(\w+)`/g), ([, name = ""]) => name))
    assert.sameMembers(fields, Object.keys(WritableContact.fields))
  })

  it("every field of a contact", () => {
    const cells = Array.from(section("### 8.1 Fields").matchAll(/^\| (`[^|]+) \|/gm), ([, cell = ""]) => cell)
    const fields = cells.flatMap((cell) => Array.from(cell.matchAll(/`(\w+)`/g), ([, name = ""]) => name))
    assert.sameMembers(
      fields,
      Array.from(new Set([...Object.keys(Contact.fields), ...Object.keys(WritableContact.fields)]))
    )
  })

  it("every operation with its path, scope, status, and idempotency key", () => {
    const rows = Array.from(
      section("### 7.1 Table").matchAll(/^\| [A-Z][^|]*\| `([A-Z]+ [^`]+)` \| `([^`]+)` \| (\d+) \| (\w*)/gm),
      (row) => row.slice(1, 5)
    )
    assert.sameDeepMembers(
      rows,
      operationsOf(document).map(({ operation, name }) => [
        name,
        operation["x-required-scope"],
        Object.keys(operation.responses).find((status) => status.startsWith("2")) ?? "",
        { true: "required", false: "optional", undefined: "" }[`${idempotencyKey(operation)?.required}`]
      ])
    )
  })

  it("every limit", () => {
    const rows = section("### 17.1 From `Limits.ts`").matchAll(/^\| `(\w+)` \| ([\d,]+) \|/gm)
    assert.deepStrictEqual(
      Array.from(rows, ([, name = "", value = ""]) => [name, Number(value.replaceAll(",", ""))]),
      Object.entries(limits)
    )
  })

  it("the current times and other numbers", () => {
    const rows = section("### 17.2 Times and other numbers").matchAll(/^\| ([^|]+) \| ([^|]+) \|/gm)
    const values = new Map(Array.from(rows, ([, name = "", value = ""]) => [name, value]))
    for (const [name, value] of Object.entries(numbers)) assert.strictEqual(values.get(name), value, name)
  })

  it("every error code with its status", () => {
    const rows = section("### 3.4 Error codes").matchAll(/^\| `(\w+)`[^|]*\| (\d+) \|/gm)
    const inTable = new Set(Array.from(rows, ([, code = "", status = ""]) => `${status} ${code}`))
    const inDocument = operationsOf(document).flatMap(({ operation }) =>
      Object.entries(operation.responses).flatMap(([status, response]) =>
        // A success may name the errors of its parts.
        Number(status) < 400 ? [] : codesOf(response).map((code) => `${status} ${code}`)
      )
    )
    const atTheEdge = [
      Rejections.unknownMethod,
      Rejections.unexpected,
      Rejections.overloaded,
      ...["ERR_HTTP_REQUEST_TIMEOUT", "HPE_HEADER_OVERFLOW", ""].map((code) =>
        Rejections.rejectionOf(Object.assign(new Error(), { code }))
      )
    ].map(({ code, status }) => `${status} ${code}`).concat(`503 ${organizationClosed.code}`)
    assert.sameMembers([...inTable], [...new Set([...inDocument, ...atTheEdge])])
  })

  it("every failure code of a delivery", () => {
    assert.sameMembers([...named(webhooks, "| `failure_code` | Cause |\n")], [...FailureCode.literals])
  })

  it("every event type", () => {
    assert.deepStrictEqual(Array.from(webhooks.matchAll(/^`([a-z.]+)`: /gm), ([, type]) => type), [
      ...AnyEventType.literals
    ])
  })

  it("the pauses between attempts", () => {
    const rows = Array.from(webhooks.matchAll(/^\| \d+ \| (\d+) (s|min|h) \|/gm), ([, count, unit]) => {
      const units = { s: Duration.seconds, min: Duration.minutes, h: Duration.hours }
      return Duration.toMillis(units[unit as keyof typeof units](Number(count)))
    })
    assert.deepStrictEqual(rows, delays.map(Duration.toMillis))
  })
})

describe("every generated page is current (npm run docs):", () => {
  it("configuration.md", () =>
    assert.strictEqual(readFileSync("docs/configuration.md", "utf8"), Reference.configuration))

  it.effect("cli.md", () =>
    Effect.gen(function*() {
      assert.strictEqual(readFileSync("docs/cli.md", "utf8"), yield* Reference.cli)
    }).pipe(Effect.provide(NodeServices.layer)))
})

it("the packages, the clients, the command line, and the API document have one version", () => {
  const versionOf = (file: string): unknown => JSON.parse(readFileSync(file, "utf8")).version
  const { info } = JSON.parse(readFileSync("packages/adapter-http/openapi.json", "utf8"))
  for (const file of globSync("packages/*/package.json")) assert.strictEqual(versionOf(file), info.version, file)
  for (const { file, pattern } of versions) {
    assert.strictEqual(pattern.exec(readFileSync(file, "utf8"))?.[1], info.version, file)
  }
})
