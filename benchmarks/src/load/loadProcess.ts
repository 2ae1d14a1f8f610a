/**
 * Sends requests over sockets: each connection has one request in progress,
 * without pipelining. It is a separate process, so that neither it nor the benchmark
 * waits for the other. Returns an `Outcome` for each `Job`.
 */
import { connect } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import { median, percentile } from "../harness/Percentiles.ts"
import { makeResponseReader } from "./ResponseReader.ts"
import { numbered } from "./Workloads.ts"

export interface Job {
  readonly port: number
  /** The parts of each request, to be joined by its number. */
  readonly requests: ReadonlyArray<ReadonlyArray<string>>
  readonly connections: number
  readonly seconds: number
  /** How long a connection waits after each response. Default: not at all. */
  readonly think_ms?: number
}

export interface Outcome {
  readonly responses: number
  /** Responses that are not 2xx, and broken connections. */
  readonly failed: number
  readonly per_second: number
  readonly p50_ms: number
  readonly p99_ms: number
  /** The mean length of a response, with its head. */
  readonly bytes: number
}

/** The number of the last request of this process. */
let number = 0

const nextRequest = (requests: Job["requests"]): string => {
  number++
  return (requests[number % requests.length] ?? []).join(numbered(number))
}

/** The responses of all connections of a job. */
interface Received {
  readonly times: Array<number>
  failed: number
  bytes: number
}

/**
 * Sends one request after the other over one connection, until the deadline or until the server closes it. Returns whether
 * the connection broke, or was not accepted.
 */
const useConnection = ({ port, requests, think_ms = 0 }: Job, deadline: number, received: Received) =>
  new Promise<boolean>((resolve) => {
    const socket = connect({ host: "127.0.0.1", port, noDelay: true })
    let sent_at = 0
    const read = makeResponseReader()
    let isLast = false
    /** Whether the server has not yet sent the response, or accepted the connection. */
    let isWaiting = true

    const send = () => {
      isWaiting = !isLast && performance.now() < deadline
      if (!isWaiting) return socket.destroy()
      sent_at = performance.now()
      socket.write(nextRequest(requests))
    }

    const receive = (chunk: Buffer) => {
      const response = read(chunk)
      if (response === null) return
      if (!response.is_success) received.failed++
      isLast = response.is_last
      received.bytes += response.length
      received.times.push(performance.now() - sent_at)
      if (think_ms === 0) return send()
      isWaiting = false
      setTimeout(send, think_ms)
    }

    socket.on("connect", send).on("data", receive).on("error", () => {})
    socket.on("close", () => {
      if (isWaiting) received.failed++
      resolve(isWaiting)
    })
  })

const run = async (job: Job): Promise<Outcome> => {
  const started_at = performance.now()
  const deadline = started_at + job.seconds * 1000
  const received: Received = { times: [], failed: 0, bytes: 0 }
  const untilDeadline = async () => {
    while (performance.now() < deadline) {
      if (await useConnection(job, deadline, received)) await sleep(10)
    }
  }
  await Promise.all(Array.from({ length: job.connections }, untilDeadline))
  const elapsed_seconds = (performance.now() - started_at) / 1000
  const { bytes, failed, times } = received
  const responses = times.length
  return {
    responses,
    failed,
    per_second: responses / elapsed_seconds,
    p50_ms: median(times),
    p99_ms: percentile(times, 0.99),
    bytes: bytes / responses
  }
}

process.on("message", (job) => {
  // Only the benchmark sends messages here.
  void run(job as Job).then((outcome) => process.send?.(outcome))
})
