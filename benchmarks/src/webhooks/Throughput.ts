/** Deliveries per second while many are due. */
import { Clock, Effect } from "effect"
import * as Backlog from "../harness/Backlog.ts"
import { Subscribers } from "../harness/Fixtures.ts"
import { memoryDuring } from "../harness/Memory.ts"
import { disableWebhooks, type RunningService, subscribe, untilReceived } from "./RunningService.ts"

const deliveries = 4000

/** Measures deliveries per second to a number of webhooks, and the peak memory of the process. */
export const measureThroughput = Effect.fnUntraced(function*(service: RunningService, webhooks: number) {
  const subscribers = yield* Effect.replicateEffect(subscribe(service, Subscribers.prompt), webhooks)
  const ids = subscribers.map(({ webhook_id }) => webhook_id)
  const per_webhook = deliveries / webhooks
  // The time to queue them does not count.
  process.kill(service.pid, "SIGSTOP")
  yield* Backlog.enqueueDeliveries(service.acme.organization_id, ids, per_webhook)
  const started_at = yield* Clock.currentTimeMillis
  process.kill(service.pid, "SIGCONT")
  const { peak_mib } = yield* memoryDuring(
    service.pid,
    Effect.forEach(subscribers, (subscriber) => untilReceived(subscriber, per_webhook), { concurrency: "unbounded" })
  )
  const elapsed_ms = (yield* Clock.currentTimeMillis) - started_at
  yield* disableWebhooks
  return {
    deliveries_per_second: Math.round(per_webhook * webhooks * 1000 / elapsed_ms),
    memory_peak_mib: Math.round(peak_mib)
  }
})
