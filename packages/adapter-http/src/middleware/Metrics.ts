/** What is counted and measured of requests. Labels are the contract's words: a path is told as its template. */
import { Metric } from "effect"

export const requests = Metric.counter("messaging_crm_http_requests_total", {
  description: "Requests that were answered, by method, route and status.",
  incremental: true
})

export const request_seconds = Metric.histogram("messaging_crm_http_request_duration_seconds", {
  description: "How long requests took until they were answered, by method and route.",
  boundaries: Metric.boundariesFromIterable([0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10])
})
