/** The alerting rules of the documentation, and their unit tests, which `promtool` runs. */
import { assert, it } from "@effect/vitest"
import * as Metrics from "@messaging-crm/core/Metrics"
import { readFileSync } from "node:fs"

const read = (file: string): string => readFileSync(`docs/${file}`, "utf8")
const tests = read("alerts.test.yaml")
const alerts = Array.from(read("alerts.yaml").matchAll(/^ +- alert: (\w+)$/gm), ([, name = ""]) => name)

it("each alert is in the guide, and has a test in which it fires and one in which it does not", () => {
  const rows = read("monitoring.md").split("## Alerts")[1] ?? ""
  assert.deepStrictEqual(Array.from(rows.matchAll(/^\| `(\w+)` \|/gm), ([, name]) => name), alerts)
  const cases = tests.split(/^ +- name: /m).slice(1)
  assert.deepStrictEqual(cases.map((text) => /^\w+/.exec(text)?.[0]), alerts)
  for (const [index, name] of alerts.entries()) {
    assert.include(cases[index], `alertname: ${name}, exp_alerts: [] }`)
    assert.match(cases[index] ?? "", new RegExp(`alertname: ${name}\\n +exp_alerts:\\n +- exp_labels`))
  }
})

it("the tests of alerts use series that the code counts", () => {
  const used = Array.from(tests.matchAll(/series: (messaging_crm_\w+_total)\{(.*), instance="a"\}/g), (match) => ({
    name: match[1],
    labels: Object.fromEntries(Array.from(match[2]?.matchAll(/(\w+)="(\w+)"/g) ?? [], ([, key, value]) => [key, value]))
  }))
  assert.isNotEmpty(used)
  const counted = Object.values(Metrics).flatMap((each) =>
    "series" in each ? each.series.map((labels) => ({ name: `${each.id.replace(".", "_")}_total`, labels })) : []
  )
  for (const series of used) assert.deepInclude(counted, series)
})
