/** The console as a developer has it: Debian's Chromium, a running `dev`, and a webhook's endpoint that fails at first. */
import { assert } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import type { Browser, Page } from "playwright-core"
import { browser, type Ready, service, watch } from "./Chromium.ts"

/** An endpoint on this machine, whose response a test sets. */
const endpoint = Effect.acquireRelease(
  Effect.promise(async () => {
    const reply = { status: 500, body: "{\"reason\":\"not yet\"}" }
    const server = createServer((request, response) => {
      request.resume().once("end", () => response.writeHead(reply.status).end(reply.body))
    }).listen(0, "127.0.0.1")
    await once(server, "listening")
    // A TCP server has such an address.
    return { reply, server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks` }
  }),
  ({ server }) => Effect.sync(() => server.closeAllConnections() ?? server.close())
)

export class Opened extends Context.Service<Opened, {
  readonly asked: ReadonlyArray<string>
  readonly chrome: Browser
  readonly complaints: ReadonlyArray<string>
  readonly hook: Effect.Success<typeof endpoint>
  readonly page: Page
  readonly ready: Ready & { readonly console_url: string }
  /** The headers and bodies of all responses except the stream's. */
  readonly responses: ReadonlyArray<string>
}>()("@messaging-crm/server/browser/OpenedConsole") {
  static readonly layer = Layer.effect(
    Opened,
    Effect.gen(function*() {
      const { console_url, ...others } = yield* service({ WEBHOOK_ALLOWED_NETWORKS: "127.0.0.0/8" })
      assert.isNotNull(console_url)
      const ready = { ...others, console_url }
      const hook = yield* endpoint
      const chrome = yield* browser(["--host-resolver-rules=MAP evil.example 127.0.0.1"])
      return yield* Effect.promise(async () => {
        const page = await chrome.newPage({ viewport: { width: 1200, height: 700 }, colorScheme: "light" })
        const responses: Array<string> = []
        page.on("response", async (response) => {
          // A response can arrive while the browser is closed.
          const headers = JSON.stringify(await response.allHeaders().catch(() => ({})))
          if (!headers.includes("text/event-stream")) responses.push(headers, await response.text().catch(() => ""))
        })
        const { asked, complaints } = watch(page)
        await page.goto(ready.console_url)
        return Opened.of({ asked, chrome, complaints, hook, page, ready, responses })
      })
    })
  )
}

export const using = (run: (opened: Opened["Service"]) => Promise<void>) =>
  Effect.flatMap(Opened, (opened) => Effect.promise(() => run(opened)))

/** Starts a conversation with a number, whose last digits determine the outcome. */
export const startConversation = async (page: Page, phone: string) => {
  await page.getByRole("button", { name: "New", exact: true }).click()
  await page.getByLabel("Phone number").fill(phone)
  await page.getByRole("combobox", { name: "Template" }).selectOption({ label: "spring_sale (en)" })
  await page.getByLabel("Body {{1}}").fill("20%")
  await page.getByLabel("Body {{2}}").fill("Sunday")
  await page.getByRole("dialog").getByRole("button", { name: "Send" }).click()
}

/** Saves a picture for the docs, where `CONSOLE_SCREENSHOTS` names a folder. */
export const picture = async (page: Page, name: string) => {
  const folder = process.env["CONSOLE_SCREENSHOTS"]
  if (folder !== undefined) await page.screenshot({ path: join(folder, `${name}.png`), animations: "disabled" })
}
