/**
 * A reporter for Vitest. It writes how many tests passed and failed into the file `TEST_COUNTS`, and appends what failed,
 * each with its causes, to the file `TEST_FAILURES`: so much that the log of a run explains a failure.
 */
import { appendFileSync, writeFileSync } from "node:fs"
import { stripVTControlCharacters } from "node:util"

const failures_max = 30
const lines_max = 12
const causes_max = 4

/** The first lines of a text, and how many are left out. */
const head = (text, max = lines_max) => {
  const lines = text.split("\n")
  return lines.length <= max ? text : [...lines.slice(0, max), `  … ${lines.length - max} more lines`].join("\n")
}

/** An error with its difference and the place where it was thrown, and then each of its causes. */
const explain = (error) => {
  const texts = []
  let next = error
  for (let depth = 0; next && depth <= causes_max; depth++) {
    const { cause, diff = "", message = String(next), name = "Error", stacks = [] } = next
    // Another reporter may have put the same words before the name.
    const what = `${name.replace(/^Caused by: /, "")}: ${message}`
    const places = stacks.filter(({ file }) => !file.includes("node_modules")).slice(0, 3)
    texts.push(head(depth === 0 ? what : `Caused by: ${what}`))
    if (diff !== "") texts.push(head(stripVTControlCharacters(diff), 30))
    texts.push(
      ...places.map(({ column, file, line, method }) =>
        `    at ${method === "" ? "" : `${method} `}${file}:${line}:${column}`
      )
    )
    next = cause
  }
  return texts.join("\n")
}

export default class Failures {
  onTestRunEnd(modules, unhandled) {
    let passed = 0
    const failed = unhandled.map((error) => `Outside of a test\n${explain(error)}`)
    for (const module of modules) {
      // A file that could not be imported, or a hook that failed, has errors of its own.
      for (const suite of [module, ...module.children.allSuites()]) {
        for (const error of suite.errors()) failed.push(`${module.relativeModuleId}\n${explain(error)}`)
      }
      for (const test of module.children.allTests()) {
        const { errors = [], state } = test.result()
        if (state === "passed") passed++
        else failed.push([`${module.relativeModuleId}: ${test.fullName}: ${state}`, ...errors.map(explain)].join("\n"))
      }
    }
    writeFileSync(process.env.TEST_COUNTS, `${passed} ${failed.length}\n`)
    const more = failed.length > failures_max ? [`… and ${failed.length - failures_max} more failures`] : []
    for (const text of [...failed.slice(0, failures_max), ...more]) {
      appendFileSync(process.env.TEST_FAILURES, `${text}\n`)
    }
  }
}
