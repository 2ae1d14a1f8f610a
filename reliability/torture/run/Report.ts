/** The report of a run on the terminal. */
import { type Call, type Fault, faultKinds, type History, type Violation } from "../History.ts"

const describeCall = ({ response, client, ended_at, index, operation, request, started_at }: Call): string =>
  [
    `  #${index} client ${client} ${started_at}–${ended_at ?? "?"} ms ${operation}`,
    `    ${request.method} ${request.path} ${JSON.stringify(request.body)} ${request.idempotency_key ?? ""}`,
    `    ${
      response === null
        ? "no response"
        : `${response.status}${response.is_replay ? " replay" : ""} ${response.text.slice(0, 400)}`
    }`
  ].join("\n")

const describe = (violation: Violation, { calls, faults }: History): string => {
  const shown = calls.filter(({ index }) => violation.calls.includes(index))
  const [from, to] = [shown.at(0)?.started_at ?? 0, shown.at(-1)?.ended_at ?? shown.at(-1)?.started_at ?? 0]
  const meanwhile = faults.filter((fault) => fault.from < to + 1000 && fault.to > from - 1000)
  return [
    `VIOLATION ${violation.rule} ${violation.detail}`,
    ...shown.map(describeCall),
    ...meanwhile.map(({ from, kind, target, to }) => `  fault ${kind} (${target}) ${from}–${to} ms`)
  ].join("\n")
}

/** Prints how many faults of each kind there were, and how long they lasted. */
const printFaults = (faults: ReadonlyArray<Fault>): void => {
  for (const kind of faultKinds) {
    const durations = faults.filter((fault) => fault.kind === kind).map(({ from, to }) => to - from)
    const seconds = durations.reduce((sum, millis) => sum + millis, 0) / 1000
    console.log(`${kind.padEnd(20)}${String(durations.length).padStart(4)}${seconds.toFixed(1).padStart(8)} s`)
  }
}

const count = (values: ReadonlyArray<string>) =>
  Object.fromEntries(
    Array.from(Map.groupBy(values, (value) => value), ([value, { length }]) => [value, length] as const).toSorted()
  )

/** Prints the first violations of a history with their calls, and the numbers of the run. */
export const print = (
  history: History,
  violations: ReadonlyArray<Violation>,
  run: { readonly minutes: number; readonly checked_ms: number }
): void => {
  const { accepted, calls, faults, inbound, received, seed } = history
  for (const violation of violations.slice(0, 10)) console.log(describe(violation, history))
  printFaults(faults)
  console.log(JSON.stringify({
    seed,
    minutes: run.minutes,
    faults: faults.length,
    operations: count(calls.map(({ operation }) => operation)),
    responses: count(calls.map(({ response }) => response === null ? "none" : String(response.status))),
    calls: calls.length,
    accepted: accepted.length,
    inbound: inbound.length,
    deliveries: received.length,
    checked_ms: run.checked_ms,
    violations: violations.length
  }))
}
