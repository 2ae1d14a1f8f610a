/** The V8 flags of each way to start the service. */
import { assert, it } from "@effect/vitest"
import { globSync } from "node:fs"
import { textOf } from "./Sources.ts"

it("the image, the systemd unit, and the command set the same V8 flags, except for memory", () => {
  const starts = (file: string) => textOf(file).match(/^(?:ENTRYPOINT|Exec\w+=|#!).*\bnode\b.*$/gm) ?? []
  const [image, ...others] = ["Dockerfile", "deploy/messaging-crm.service", "packages/server/src/main.ts"].flatMap(
    starts
  )
  const flagsOf = (line = "") => line.match(/--(?!env-file)[\w-]+(?:=\d+)?/g)
  assert.lengthOf(others, 3)
  const isCommand = (line: string) => line.startsWith("#!")
  for (const line of others) {
    const expected = flagsOf(image)?.filter((flag) => !isCommand(line) || !flag.startsWith("--max-semi-space-size"))
    assert.deepStrictEqual(flagsOf(line), expected)
  }
})

it("no source sets a V8 flag", () => {
  const found = globSync("packages/*/src/**/*.ts").filter((file) => textOf(file).includes("setFlagsFromString"))
  assert.isEmpty(found)
})
