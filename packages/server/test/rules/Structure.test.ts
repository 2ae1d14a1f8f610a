/** The structure of the packages: layers, no cycles, and the order of a file's parts. */
import { assert, it } from "@effect/vitest"
import { globSync } from "node:fs"
import { basename } from "node:path"
import { relativeImportsOf, textOf } from "./Sources.ts"

/**
 * The layers that core and the stores share, from the highest to the lowest: a file imports from its own layer and from lower
 * ones. Layers of one line do not import each other. Files in no layer connect the layers, and no layer imports them.
 */
const shared_layers = [
  ["privacy"],
  ["inbound"],
  ["sends"],
  ["messages"],
  ["conversations"],
  ["contacts"],
  ["replays"],
  ["deliveries"],
  ["webhooks"],
  ["catalog", "events"],
  ["accounts"],
  ["work"]
]

const layers: Readonly<Record<string, ReadonlyArray<ReadonlyArray<string>>>> = {
  "packages/core/src": [...shared_layers, ["kernel"]],
  "packages/adapter-memory/src": [...shared_layers, ["world"]],
  "packages/adapter-postgres/src": [["moves"], ...shared_layers, ["database"]]
}

/** Returns a cycle among files that import each other, types included, or null. */
const findCycle = (files: ReadonlyArray<string>): ReadonlyArray<string> | null => {
  const among = new Set(files)
  const done = new Set<string>()
  const visit = (file: string, path: ReadonlyArray<string>): ReadonlyArray<string> | null => {
    if (path.includes(file)) return [...path.slice(path.indexOf(file)), file]
    if (done.has(file) || !among.has(file)) return null
    done.add(file)
    for (const imported of relativeImportsOf(file)) {
      const cycle = visit(imported, [...path, file])
      if (cycle !== null) return cycle
    }
    return null
  }
  return files.reduce<ReadonlyArray<string> | null>((found, file) => found ?? visit(file, []), null)
}

for (const [folder, levels] of Object.entries(layers)) {
  it(`${folder}: layers import downward`, () => {
    const layerOf = (file: string) => file.slice(folder.length + 1).split("/").slice(0, -1)[0]
    const levelOf = (layer: string | undefined) => levels.findIndex((names) => names.some((name) => name === layer))
    for (const file of globSync(`${folder}/**/*.ts`)) {
      const layer = layerOf(file)
      if (layer === undefined) {
        assert.include(
          ["Crm.ts", "Housekeeping.ts", "Tables.ts", "Worker.ts", "index.ts"],
          basename(file),
          `${file} is in no layer`
        )
        continue
      }
      assert.isAtLeast(levelOf(layer), 0, `${layer} is not a layer`)
      for (const imported of relativeImportsOf(file)) {
        const other = layerOf(imported)
        assert.isTrue(
          other === layer || levelOf(other) > levelOf(layer),
          `${file} imports ${imported}, which is not below it`
        )
      }
    }
  })
}

it("imports have no cycles, type imports included", () => {
  const found = globSync("{packages,examples,benchmarks,reliability,mutation}/**/*.ts", {
    exclude: ["**/node_modules/**", "**/dist/**"]
  })
  assert.isNotEmpty(found)
  assert.isNull(findCycle(found))
})

it("files of core have the order data, errors, decisions, port, operations", () => {
  const order = ["data", "errors", "decisions", "port", "operations"]
  for (const file of globSync("packages/core/src/**/*.ts")) {
    const rulers = Array.from(textOf(file).matchAll(/^\/\/ -{5,} (\w+)$/gm), ([, name = ""]) => name)
    const places = rulers.map((name) => order.indexOf(name))
    assert.notInclude(places, -1, `${file} has a part of another name`)
    assert.deepStrictEqual(places, Array.from(new Set(places)).toSorted((a, b) => a - b), file)
  }
})
