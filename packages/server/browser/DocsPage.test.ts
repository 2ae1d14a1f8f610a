/** The docs page as a reader has it: Debian's Chromium, a running service, a real key. */
import { assert, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { readFile } from "node:fs/promises"
import type { Page } from "playwright-core"
import { browser, type Ready, service, watch } from "./Chromium.ts"

/** The page, opened, with all that it asked for and complained of since. */
class Docs extends Context.Service<Docs, {
  readonly page: Page
  readonly ready: Ready
  readonly asked: ReadonlyArray<string>
  readonly complaints: ReadonlyArray<string>
  readonly headers: Readonly<Record<string, string>>
}>()("@messaging-crm/server/browser/Docs") {
  static readonly layer = (environment: Readonly<Record<string, string>>) =>
    Layer.effect(
      Docs,
      Effect.gen(function*() {
        const ready = yield* service(environment)
        const chrome = yield* browser()
        return yield* Effect.promise(async () => {
          const page = await chrome.newPage({ viewport: { width: 1400, height: 900 } })
          const { asked, complaints } = watch(page)
          const response = await page.goto(ready.docs_url, { waitUntil: "networkidle" })
          return Docs.of({ page, ready, asked, complaints, headers: (await response?.allHeaders()) ?? {} })
        })
      })
    )
}

interface Document {
  readonly info: { readonly title: string }
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly summary: string }>>>>
}

const document = Effect.promise(async (): Promise<Document> =>
  JSON.parse(await readFile(new URL("../../adapter-http/openapi.json", import.meta.url), "utf8"))
)

/** Waits until the page shows the document, and returns all its text. It is in a shadow root, which `innerText` omits. */
const textOf = async (page: Page, { info, paths }: Document): Promise<string> => {
  await page.getByText(info.title).first().waitFor()
  await page.getByRole("button", { name: "Search" }).waitFor()
  const text = await page.locator("openapi-explorer").evaluate(({ shadowRoot }) => shadowRoot?.textContent ?? "")
  for (const item of Object.values(paths)) {
    for (const { summary } of Object.values(item)) assert.include(text, summary)
  }
  return text
}

const openOperation = (page: Page, summary: string) => page.getByText(summary, { exact: true }).first().click()

const enterKey = async (page: Page, key: string): Promise<void> => {
  await openOperation(page, "Authentication")
  await page.locator(".api-key-input").fill(key)
  await page.getByRole("button", { name: "SET", exact: true }).click()
}

const execute = (page: Page) => page.getByRole("button", { name: "EXECUTE", exact: true }).click()

const asksOnlyTheService = (isExpected: (complaint: string) => boolean = () => false) =>
  Effect.gen(function*() {
    const { asked, complaints, ready } = yield* Docs
    const { origin } = new URL(ready.base_url)
    assert.deepStrictEqual(asked.filter((url) => !/^(data|blob):/.test(url) && new URL(url).origin !== origin), [])
    assert.deepStrictEqual(complaints.filter((complaint) => !isExpected(complaint)), [])
  })

it.layer(Docs.layer({ DOCS_TRY_REQUESTS: "false" }), { timeout: "1 minute" })("the docs page of `serve`", (it) => {
  it.effect("shows every operation, has no field for a key, and sends no request", () =>
    Effect.gen(function*() {
      const { headers, page } = yield* Docs
      const shown = yield* document
      yield* Effect.promise(async () => {
        assert.notMatch(await textOf(page, shown), /HTTP Bearer|AUTHENTICATION/)
        await openOperation(page, "Create a contact")
        await page.getByRole("button", { name: "JavaScript", exact: true }).waitFor()
        assert.strictEqual(await page.locator(".api-key-input, .btn-execute").count(), 0)
      })
      assert.match(headers["content-security-policy"] ?? "", /connect-src 'none'/)
      const sent = yield* Effect.promise(() =>
        page.evaluate("fetch('/health/live').then(() => 'sent', () => 'rejected')")
      )
      assert.strictEqual(sent, "rejected")
    }))

  it.effect("asks nobody but the service, and complains only of the request that the test sends", () =>
    asksOnlyTheService((complaint) => complaint.includes("/health/live")))
})

it.layer(Docs.layer({}), { timeout: "1 minute" })("the docs page", (it) => {
  it.effect("shows every operation of the document", () =>
    Effect.gen(function*() {
      const { page } = yield* Docs
      const shown = yield* document
      yield* Effect.promise(() => textOf(page, shown))
      const file = process.env["DOCS_SCREENSHOT"]
      if (file !== undefined) yield* Effect.promise(() => page.screenshot({ path: file }))
    }))

  it.effect("is dark where the reader prefers it", () =>
    Effect.gen(function*() {
      const { page, ready } = yield* Docs
      /** Opens the page, and returns the color of its text. */
      const colorIn = async (colorScheme: "dark" | "light") => {
        await page.emulateMedia({ colorScheme })
        await page.goto(ready.docs_url, { waitUntil: "networkidle" })
        return page.getByText("Create a contact", { exact: true }).first().evaluate((element) =>
          getComputedStyle(element).color
        )
      }
      const [dark, light] = yield* Effect.promise(async () => [await colorIn("dark"), await colorIn("light")])
      assert.deepStrictEqual([dark, light], ["rgb(195, 204, 212)", "rgb(59, 70, 82)"])
    }))

  it.effect("shows samples in five languages", () =>
    Effect.gen(function*() {
      const { page } = yield* Docs
      yield* Effect.promise(async () => {
        await openOperation(page, "Create a contact")
        for (const language of ["curl", "JavaScript", "Python", "PHP", "Go"]) {
          await page.getByRole("button", { name: language, exact: true }).click()
          const sample = page.locator(".code-sample-wrapper:visible syntax-highlighter pre")
          assert.match(await sample.innerText(), /"Idempotency-Key|Idempotency-Key: /)
        }
      })
    }))

  it.effect("tries an operation with a pasted key, and shows the contacts that the service has", () =>
    Effect.gen(function*() {
      const { page, ready } = yield* Docs
      const answer = yield* Effect.promise(async () => {
        await enterKey(page, ready.api_key)
        await openOperation(page, "List contacts")
        const answered = page.waitForResponse((response) => response.url().startsWith(`${ready.base_url}/contacts`))
        await execute(page)
        return answered
      })
      assert.strictEqual(answer.status(), 200)
      // No filter that nobody ticked.
      assert.strictEqual(answer.url(), `${ready.base_url}/contacts`)
      const { data: [first] } = yield* Effect.promise(() => answer.json())
      const direct = yield* Effect.promise(() =>
        fetch(`${ready.base_url}/contacts`, { headers: { authorization: `Bearer ${ready.api_key}` } }).then((
          response
        ) => response.json())
      )
      assert.strictEqual(first.id, direct.data[0].id)
      yield* Effect.promise(() => page.getByText(first.id).first().waitFor())
    }))

  it.effect("asks nobody but the service, runs nothing but its own scripts, and complains of nothing", () =>
    Effect.gen(function*() {
      const { headers } = yield* Docs
      yield* asksOnlyTheService()
      assert.match(headers["content-security-policy"] ?? "", /script-src 'sha256-[^;]+'; .*connect-src 'self'/)
    }))

  it.effect("sends a form under another idempotency key each time, and no empty header", () =>
    Effect.gen(function*() {
      const { page, ready } = yield* Docs
      const headers = yield* Effect.promise(async () => {
        await page.goto(ready.docs_url, { waitUntil: "networkidle" })
        await enterKey(page, ready.api_key)
        await openOperation(page, "Create a contact")
        const send = async () => {
          const asked = page.waitForRequest((request) => request.method() === "POST")
          await execute(page)
          return (await asked).allHeaders()
        }
        return [await send(), await send()]
      })
      const keys = headers.map((each) => each["idempotency-key"] ?? "")
      assert.strictEqual(new Set(keys).size, 2)
      for (const key of keys) assert.match(key, /^try-createContact-[a-z0-9]{8,}$/)
      assert.deepStrictEqual(headers.map((each) => each["x-request-id"]), [undefined, undefined])
    }))

  it.effect("shows the description of an error's code at the error's link", () =>
    Effect.gen(function*() {
      const { page, ready } = yield* Docs
      yield* Effect.promise(async () => {
        const { headers } = await fetch(`${ready.base_url}/tags`)
        const [, link = "none"] = /^<(.+)>; rel="help"$/.exec(headers.get("link") ?? "") ?? []
        await page.goto("about:blank")
        await page.goto(link)
        const row = page.getByRole("row", { name: "401 unauthorized" })
        await row.waitFor()
        await row.evaluate((element) =>
          new Promise<void>((resolve) =>
            new IntersectionObserver((seen) => seen.some(({ isIntersecting }) => isIntersecting) && resolve())
              .observe(element)
          )
        )
      })
    }))
})
