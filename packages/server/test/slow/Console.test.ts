/** The console of `serve --console` as operators run it: processes on one database, behind a login. */
import { assert, it } from "@effect/vitest"
import * as Databases from "@messaging-crm/adapter-postgres/testing/Databases"
import { Effect, Layer } from "effect"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { folder } from "../../testing/Folder.ts"
import * as IdentityProvider from "../../testing/IdentityProvider.ts"
import * as Organizations from "../../testing/processes/Organizations.ts"
import * as Processes from "../../testing/processes/Processes.ts"
import * as Servers from "../../testing/processes/Servers.ts"
import { Browser, signIn } from "../console/Browser.ts"
import { sessionKey } from "../console/ConsoleScene.ts"

/** A migrated database with an organization, a provider, and two servers that are not started yet. */
const scene = Effect.gen(function*() {
  const database_url = yield* Databases.migrated
  const server = yield* Servers.reserve
  const other = yield* Servers.reserve
  const origin = server.url.replace("127.0.0.1", "localhost")
  const provider = yield* IdentityProvider.start({
    redirect_uri: `${origin}/console/callback`,
    post_logout_redirect_uri: `${origin}/console/logged-out`
  })
  const service = {
    DATABASE_URL: database_url,
    SECRET_KEY: Buffer.alloc(32, 7).toString("base64"),
    PROVIDER: "mock",
    HOST: "127.0.0.1"
  }
  const acme = yield* Organizations.create(service)
  const environment = {
    ...service,
    CONSOLE_URL: origin,
    CONSOLE_ORGANIZATION_ID: acme.organization_id,
    CONSOLE_SESSION_KEY: sessionKey(3),
    OIDC_ISSUER: provider.issuer,
    OIDC_CLIENT_ID: IdentityProvider.client.client_id,
    OIDC_CLIENT_SECRET: IdentityProvider.client.client_secret
  }
  return { acme, environment, origin, other, server, service }
})

const outputOf = ({ child }: Effect.Success<ReturnType<typeof Processes.startMain>>) => {
  const output = { text: "" }
  child.stderr?.setEncoding("utf8").on("data", (text) => {
    output.text += text
  })
  return output
}

it.live("`serve` loads nothing of it without the flag", () =>
  Effect.gen(function*() {
    const hook = join(yield* folder, "loaded.mjs")
    yield* Effect.promise(() =>
      writeFile(
        hook,
        `import { registerHooks } from "node:module"
        registerHooks({
          load: (url, context, next) => {
            if (url.startsWith("file:")) process.stderr.write(url + "\\n")
            return next(url, context)
          }
        })`
      )
    )
    const program = Layer.succeed(Processes.Program, { words: ["--import", hook, Processes.main], environment: {} })
    const { environment, server } = yield* scene
    const loadedBy = Effect.fnUntraced(
      function*(args: ReadonlyArray<string>) {
        const process = yield* Processes.startMain(["serve", "--port", String(server.port), ...args], environment)
        const output = outputOf(process)
        yield* Processes.untilUp(`${server.url}/health/ready`)
        return output.text
      },
      Effect.scoped,
      Effect.provide(program)
    )
    const parts = /\/(?:Console|src|MessagingCrm)\.js$/m
    const without = yield* loadedBy([])
    assert.match(without, /\/service\.js$/m)
    assert.notMatch(without, parts)
    assert.match(yield* loadedBy(["--console"]), parts)
  }).pipe(Effect.scoped))

it.live("a session is valid in every process, and neither secrets nor addresses are in the logs", () =>
  Effect.gen(function*() {
    const { environment, origin, other, server } = yield* scene
    const logs = yield* Effect.forEach([server, other], (each) =>
      Effect.gen(function*() {
        const args = ["serve", "--console", "--port", String(each.port)]
        const output = outputOf(yield* Processes.startMain(args, { ...environment, LOG_LEVEL: "debug" }))
        yield* Processes.untilUp(`${each.url}/health/ready`)
        return output
      }))
    const browser = new Browser()
    const { page, query } = yield* Effect.promise(async () => {
      const begun = await browser.get(`${origin}/console/login`)
      const callback = await signIn(browser, begun.headers["location"] ?? "", "ada@acme.example")
      await browser.get(callback)
      const cookie = Array.from(browser.cookiesOf(origin), ([name, value]) => `${name}=${value}`).join("; ")
      const page = await new Browser().get(`${other.url}/console`, { cookie, host: new URL(origin).host })
      return { page, query: new URL(callback).searchParams }
    })
    assert.strictEqual(page.status, 200, page.text)
    const written = logs.map(({ text }) => text).join("\n")
    assert.include(written, "Member logged in")
    const secrets = [
      environment.CONSOLE_SESSION_KEY,
      environment.OIDC_CLIENT_SECRET,
      query.get("code") ?? "",
      query.get("state") ?? "",
      "ada@acme.example",
      ...browser.cookiesOf(origin).values()
    ]
    for (const secret of secrets) {
      assert.isAbove(secret.length, 10)
      assert.notInclude(written, secret)
    }
  }).pipe(Effect.scoped))

it.live("a stop ends open pages at once", () =>
  Effect.gen(function*() {
    const { environment, origin, server } = yield* scene
    const args = ["serve", "--console", "--port", String(server.port)]
    const { child, exited } = yield* Processes.startMain(args, environment)
    yield* Processes.untilUp(`${server.url}/health/ready`)
    const stream = yield* Effect.promise(async () => {
      const browser = new Browser()
      const begun = await browser.get(`${origin}/console/login`)
      await browser.get(await signIn(browser, begun.headers["location"] ?? "", "ada@acme.example"))
      const stream = await browser.open(`${origin}/console/stream`)
      await stream.until(/^event: snapshot$/m)
      child.kill("SIGTERM")
      await stream.ended
      return stream
    })
    assert.strictEqual(stream.headers["content-type"], "text/event-stream")
    assert.strictEqual(yield* exited, 0)
  }).pipe(Effect.scoped))

it.live("an invalid or missing setting prevents the startup with a line for each", () =>
  Effect.gen(function*() {
    const { environment, service } = yield* scene
    const errorOf = (variables: Readonly<Record<string, string>>) =>
      Effect.map(Processes.run(["serve", "--console", "--port", "0"], variables), ({ code, stderr }) => {
        assert.strictEqual(code, 1, stderr)
        return stderr
      })
    const missing = yield* errorOf(service)
    for (const name of Object.keys(environment).filter((name) => !(name in service))) {
      assert.match(missing, new RegExp(`^${name} is required: `, "m"))
    }
    const invalid = {
      CONSOLE_URL: ["http://crm.example.com", "https://crm.example.com/console", "crm.example.com"],
      CONSOLE_ORGANIZATION_ID: ["acme"],
      CONSOLE_SESSION_KEY: ["short-key-of-the-operator"],
      CONSOLE_SESSION_HOURS: ["0", "721"],
      OIDC_ISSUER: ["http://login.example.com", "https://login.example.com/?a=b", "login"],
      OIDC_CLIENT_ID: ["a b"],
      OIDC_CLIENT_SECRET: ["not a secret"]
    }
    for (const [name, values] of Object.entries(invalid)) {
      for (const value of values) {
        const error = yield* errorOf({ ...environment, [name]: value })
        assert.match(error, new RegExp(`^${name} must be `, "m"))
        if (name.endsWith("KEY") || name.endsWith("SECRET")) assert.notInclude(error, value)
      }
    }
    const unknown = yield* errorOf({ ...environment, CONSOLE_ORGANIZATION_ID: "01990000-0000-7000-8000-000000000000" })
    assert.match(unknown, /^CONSOLE_ORGANIZATION_ID is the ID of no organization\./m)
  }).pipe(Effect.scoped))

it.live("the login says so if the provider does not respond, and the API works", () =>
  Effect.gen(function*() {
    const { acme, environment, origin, server } = yield* scene
    const port = new URL((yield* Servers.reserve).url).port
    const args = ["serve", "--console", "--port", String(server.port)]
    yield* Processes.startMain(args, { ...environment, OIDC_ISSUER: `http://127.0.0.1:${port}`, LOG_LEVEL: "none" })
    yield* Processes.untilUp(`${server.url}/health/ready`)
    const page = yield* Effect.promise(() => new Browser().get(`${origin}/console/login`))
    assert.deepStrictEqual([page.status, page.headers["retry-after"]], [503, "5"])
    const tags = yield* Effect.promise(() =>
      new Browser().get(`${server.url}/v1/tags`, { authorization: `Bearer ${acme.key}` })
    )
    assert.strictEqual(tags.status, 200)
  }).pipe(Effect.scoped))
