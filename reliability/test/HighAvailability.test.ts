/** The page on high availability agrees with the files of `deploy/high-availability`, which the failover drill uses. */
import { assert, describe, it } from "@effect/vitest"
import { globSync, readFileSync } from "node:fs"
import { basename } from "node:path"
import { environmentOf, textOf } from "../drills/failover/Configuration.ts"
import { first_write_max_ms } from "../drills/failover/Promise.ts"

const page = readFileSync("docs/high-availability.md", "utf8")
const blocks = Array.from(page.matchAll(/^```\w+\n([\s\S]*?)^```$/gm), ([, text]) => text)
const drill = readFileSync("reliability/drills/failover/PatroniCluster.ts", "utf8")

describe("docs/high-availability.md", () => {
  for (const file of globSync("deploy/high-availability/*")) {
    it(`contains ${file}, which the drill uses`, () => {
      assert.include(blocks, readFileSync(file, "utf8"))
      assert.include(drill, `textOf("${basename(file)}"`)
    })
  }

  it("promises the time that the drill enforces", () => {
    const seconds = first_write_max_ms / 1000
    assert.include(
      page,
      `**After any single fault of the [table](#faults), writes succeed again within ${seconds} s.**`
    )
    assert.include(page, `or if a first write takes longer than ${seconds} s`)
  })
})

describe("a file of the cluster", () => {
  it("has a value for each placeholder", () => {
    const { DATABASE_URL } = environmentOf(textOf("service.env", { CRM_PASSWORD: "secret" }))
    assert.strictEqual(DATABASE_URL, "postgres://crm:secret@127.0.0.1:5000/crm?connect_timeout=2")
    assert.throws(() => textOf("service.env"), /placeholder CRM_PASSWORD/)
  })
})
