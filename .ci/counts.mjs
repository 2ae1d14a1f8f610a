// Prints how many tests of Vitest's report passed and failed, and appends what failed, and why, to a file.
import { appendFileSync, readFileSync } from "node:fs"
import { relative } from "node:path"

const [report, failures] = process.argv.slice(2)
const { numPassedTests, numTotalTests, testResults } = JSON.parse(readFileSync(report, "utf8"))

for (const file of testResults) {
  const name = relative(process.cwd(), file.name)
  // A file that could not be imported has a message of its own and no tests.
  if (file.status === "failed" && file.message) appendFileSync(failures, `${name}: ${file.message}\n`)
  for (const test of file.assertionResults.filter(({ status }) => status !== "passed")) {
    const why = test.failureMessages.map((message) => message.split("\n").slice(0, 12).join("\n")).join("\n")
    appendFileSync(failures, `${name}: ${test.fullName}: ${test.status}\n${why}\n`)
  }
}
console.log(numPassedTests, numTotalTests - numPassedTests)
