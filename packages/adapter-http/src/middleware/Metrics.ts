/** Metrics of requests, by OpenTelemetry's semantic conventions. A route is a path template from the contract. */
import { Metric } from "effect"

const duration = Metric.histogram("http.server.request.duration", {
  description: "Duration of HTTP server requests.",
  attributes: { unit: "s" },
  boundaries: Metric.boundariesFromIterable([
    0.005,
    0.01,
    0.025,
    0.05,
    0.075,
    0.1,
    0.25,
    0.5,
    0.75,
    1,
    2.5,
    5,
    7.5,
    10
  ])
})

/** A series is made once for its labels and found again: making one takes longer than counting. There are few. */
const series = new Map<string, typeof duration>()

/** Returns the histogram of the requests with a method, route, and status. */
export const durationWith = (method: string, route: string, status: number): typeof duration => {
  const key = `${method} ${route} ${status}`
  const found = series.get(key)
  if (found !== undefined) return found
  const made = Metric.withAttributes(duration, {
    "http.request.method": method,
    "http.route": route,
    "http.response.status_code": String(status)
  })
  series.set(key, made)
  return made
}
