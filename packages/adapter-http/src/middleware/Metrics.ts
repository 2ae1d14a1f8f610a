/** Metrics of requests. A label is a word of the contract: for a path, its template. */
import { Metric } from "effect"

const requests = Metric.counter("messaging_crm_http_requests_total", {
  description: "Requests that were answered, by method, route and status.",
  incremental: true
})

const request_seconds = Metric.histogram("messaging_crm_http_request_duration_seconds", {
  description: "How long requests took until they were answered, by method and route.",
  boundaries: Metric.boundariesFromIterable([0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10])
})

/** A series is made once for its labels and found again: making one takes longer than counting. There are few, all words of the contract. */
const memoized = <Series>(make: (...labels: ReadonlyArray<string>) => Series) => {
  const all = new Map<string, Series>()
  return (...labels: ReadonlyArray<string>): Series => {
    const key = labels.join(" ")
    const found = all.get(key) ?? make(...labels)
    all.set(key, found)
    return found
  }
}

/** Returns the counter of the requests with a method, route and status. */
export const requestsWith = memoized((method = "", route = "", status = "") =>
  Metric.withAttributes(requests, { method, route, status })
)

/** Returns the histogram of the requests with a method and route. */
export const secondsWith = memoized((method = "", route = "") =>
  Metric.withAttributes(request_seconds, { method, route })
)
