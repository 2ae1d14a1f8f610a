/** Whether the programs do the same work: they must give the same answers. */
import { Effect } from "effect"
import { deepStrictEqual } from "node:assert"
import type { Target } from "./Targets.ts"
import { numbered, type Request } from "./Workloads.ts"

interface Answer {
  readonly status: number
  readonly data: unknown
}

/** Sends a request. `run` is part of its idempotency key. */
export const send = (target: Target, { body, key, method, path }: Request, run: string) =>
  Effect.promise(async (): Promise<Answer> => {
    const headers: Record<string, string> = { authorization: `Bearer ${key}` }
    if (body !== undefined) Object.assign(headers, { "content-type": "application/json", "idempotency-key": run })
    const url = `http://127.0.0.1:${target.port}/v1${path}`
    const sent = body === undefined ? { method, headers } : { method, headers, body: body.join(numbered(1)) }
    const response = await fetch(url, sent)
    const text = await response.text()
    if (!response.ok) throw new Error(`${target.name} answered ${method} ${path} with ${response.status}: ${text}`)
    const answer: { data: unknown } = JSON.parse(text)
    return { status: response.status, data: answer.data }
  })

/** What a write makes anew, which differs from one program to the other. */
const made = new Set(["id", "created_at", "updated_at"])

/** Leaves out of the answer of a write what differs. */
const comparable = (request: Request, { data, status }: Answer): Answer => ({
  status,
  data: request.body === undefined || typeof data !== "object" || data === null
    ? data
    : Object.fromEntries(Object.entries(data).map(([name, value]) => [name, made.has(name) ? typeof value : value]))
})

/** Sends each target some of its requests, which must be answered with 2xx and alike. */
export const compare = Effect.fnUntraced(function*(
  title: string,
  targets: ReadonlyArray<readonly [Target, ReadonlyArray<Request>]>
) {
  for (const index of [0, 1, 2]) {
    const answers = yield* Effect.forEach(targets, ([target, requests]) => {
      const request = requests[index]
      if (request === undefined) return Effect.die(new Error(`There are too few requests: ${title}`))
      return Effect.map(send(target, request, `check-${title}-${index}`), (answer) => comparable(request, answer))
    })
    for (const answer of answers) {
      deepStrictEqual(answer, answers[0], `The answers differ: ${title}`)
    }
  }
})
