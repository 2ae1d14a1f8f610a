import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Contact, WritableContact } from "@messaging-crm/core/Contacts"
import { EventType } from "@messaging-crm/core/Events"
import { FailureReason } from "@messaging-crm/core/MessagingProvider"
import { operations } from "@messaging-crm/core/Operations"
import { SendStatus } from "@messaging-crm/core/Sends"
import { delays, FailureCode } from "@messaging-crm/core/WebhookDeliveries"
import { testNumbers } from "@messaging-crm/provider-mock/Behaviors"
import { Duration, Effect } from "effect"
import { existsSync, globSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import * as Reference from "../scripts/Reference.ts"

const webhooks = readFileSync("docs/webhooks.md", "utf8")
const sending = readFileSync("docs/sending.md", "utf8")

/** What stands in the first column of the table under a heading, without its quotes of code. */
const named = (page: string, heading: string): ReadonlyArray<string> => {
  const table = page.split(heading)[1]?.split("\n\n")[0] ?? ""
  return Array.from(table.matchAll(/^\| `([^`]+)` \|/gm), ([, name = ""]) => name)
}

const pages = [...globSync("*.md"), ...globSync("docs/*.md"), ...globSync("{packages,examples}/*/README.md")]

/** GitHub's name of a heading. */
const anchorOf = (heading: string): string =>
  heading.toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, "").replace(/\s/g, "-")

const anchorsOf = (page: string): ReadonlyArray<string> =>
  Array.from(readFileSync(page, "utf8").matchAll(/^#+ (.+)$/gm), ([, heading = ""]) => anchorOf(heading))

describe("the guides name what the code has", () => {
  it("reasons why a send fails", () => {
    assert.sameMembers([...named(sending, "| `failure_reason` | What happened | Then |\n")], [
      ...FailureReason.literals
    ])
  })

  it("states of a send", () => {
    assert.deepStrictEqual(named(sending, "| `status` | |"), SendStatus.literals)
  })

  it("numbers that misbehave", () => {
    assert.sameMembers([...named(sending, "| Ends in | Behavior |\n")], Object.keys(testNumbers))
  })

  it("fields of a contact", () => {
    const section = readFileSync("docs/contract.md", "utf8").split("### 8.1 Fields")[1]?.split("### 8.2")[0] ?? ""
    const cells = Array.from(section.matchAll(/^\| (`[^|]+) \|/gm), ([, cell = ""]) => cell)
    const fields = cells.flatMap((cell) => Array.from(cell.matchAll(/`(\w+)`/g), ([, name = ""]) => name))
    assert.sameMembers(
      fields,
      Array.from(new Set([...Object.keys(Contact.fields), ...Object.keys(WritableContact.fields)]))
    )
  })

  it("operations with their scopes and idempotency keys", () => {
    const section = readFileSync("docs/contract.md", "utf8").split("### 7.1 Table")[1]?.split("### 7.2")[0] ?? ""
    const rows = Array.from(section.matchAll(/^\| [A-Z][^|]*\| `[A-Z]+ [^`]+` \| `([^`]+)` \| \d+ \| (\w*)/gm))
    const keyed = Object.values(operations).filter(({ scope }) => scope !== null)
    assert.sameMembers(
      rows.map(([, scope = "", idempotency = ""]) => `${scope} ${idempotency}`),
      keyed.map(({ idempotency, scope }) => `${scope} ${idempotency ?? ""}`)
    )
  })

  it("codes of a delivery that failed", () => {
    assert.sameMembers([...named(webhooks, "| `failure_code` | |\n")], [...FailureCode.literals])
  })

  it("events", () => {
    assert.deepStrictEqual(Array.from(webhooks.matchAll(/^`([a-z.]+)`: /gm), ([, type]) => type), [
      ...EventType.literals
    ])
  })

  it("the schedule of attempts", () => {
    const rows = Array.from(webhooks.matchAll(/^\| \d+ \| (\d+) (s|min|h) \|/gm), ([, count, unit]) => {
      const units = { s: Duration.seconds, min: Duration.minutes, h: Duration.hours }
      return Duration.toMillis(units[unit as keyof typeof units](Number(count)))
    })
    assert.deepStrictEqual(rows, delays.map(Duration.toMillis))
  })
})

describe("pages made from the code are current: run npm run docs", () => {
  it("configuration.md", () =>
    assert.strictEqual(readFileSync("docs/configuration.md", "utf8"), Reference.configuration))

  it.effect("cli.md", () =>
    Effect.gen(function*() {
      assert.strictEqual(readFileSync("docs/cli.md", "utf8"), yield* Reference.cli)
    }).pipe(Effect.provide(NodeServices.layer)))
})

/** Phrases that a reader has to decode, or that describe a page instead of its subject. */
const avoided: ReadonlyArray<RegExp> = [
  /\bbesides?\b/i,
  /\b(?:is|are|be) none\b/i,
  // A question in a table may ask what a thing is.
  /\bwhat (?:is|was|are|were|waits|came|comes)\b(?![^|.]*\?)/i,
  /At the end of this page/i,
  /\breal networks?\b/i,
  /\b(?:some|no)body\b|\bwhoever\b/i,
  /\bgo(?:es)? on\b/i,
  /\b(?:is|are) away\b/i,
  /\bin hand\b/i,
  /\bdoubled\b/i,
  /\bas many as (?:it|they) may\b/i
]

describe("texts avoid phrases that must be decoded", () => {
  const texts = [
    "README.md",
    "SECURITY.md",
    "AGENTS.md",
    "CONTRIBUTING.md",
    ...globSync("docs/*.md"),
    ...globSync("packages/*/README.md"),
    "packages/adapter-http/openapi.json"
  ]
  // The commands' help is in docs/cli.md, the messages of the API in openapi.json and in the handlers.
  const messages = globSync("packages/{adapter-http/src/{api,handlers,middleware},server/src/commands}/*.ts")
  const strings = (text: string) =>
    Array.from(text.matchAll(/["`](?:[^"`\\]|\\.)*["`]/g), ([found]) => found).join("\n")
  for (const file of [...texts, ...messages]) {
    it(file, () => {
      const text = readFileSync(file, "utf8")
      for (const phrase of avoided) assert.notMatch(file.endsWith(".ts") ? strings(text) : text, phrase)
    })
  }
})

it("one version: of the packages, the command line, and the document", () => {
  const versionOf = (file: string): unknown => JSON.parse(readFileSync(file, "utf8")).version
  const { info } = JSON.parse(readFileSync("packages/adapter-http/openapi.json", "utf8"))
  for (const file of globSync("packages/*/package.json")) assert.strictEqual(versionOf(file), info.version, file)
})

describe("links lead somewhere", () => {
  for (const page of pages) {
    it(page, () => {
      for (const [, link = ""] of readFileSync(page, "utf8").matchAll(/\]\(([^)\s]+)\)/g)) {
        if (/^[a-z]+:/.test(link)) continue
        const [path = "", anchor] = link.split("#")
        const target = path === "" ? page : join(dirname(page), path)
        assert.isTrue(existsSync(target), `${page}: ${link}`)
        if (anchor !== undefined) assert.include(anchorsOf(target), anchor, `${page}: ${link}`)
      }
    })
  }
})
