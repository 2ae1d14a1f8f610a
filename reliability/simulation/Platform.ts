/** The time, the randomness, and the logs of a simulation, which replace those of the platform. */
import { generator, NextId } from "@messaging-crm/core/Ids"
import { RandomBytes } from "@messaging-crm/core/RandomBytes"
import { RootKeys } from "@messaging-crm/core/Secrets"
import { Cause, Clock, Context, Effect, Layer, Logger, Random, Redacted, References, Scheduler } from "effect"
import * as NodeCiphers from "../../packages/server/src/node/Ciphers.ts"
import * as NodeDigests from "../../packages/server/src/node/Digests.ts"
import type { SeededRandom } from "./SeededRandom.ts"
import type * as Timeline from "./Timeline.ts"
import type * as Trace from "./Trace.ts"

const bytesOf = (random: SeededRandom) => (bytes: Uint8Array<ArrayBuffer>) => {
  for (let index = 0; index < bytes.length; index++) bytes[index] = random.between(0, 255)
  return bytes
}

/** Makes the services of a run, whose draws the generator determines. */
export const platform = (
  random: SeededRandom,
  timeline: Timeline.Timeline,
  trace: Trace.Trace
): Context.Context<never> => {
  const [ids, jitter, bytes] = [bytesOf(random.split()), random.split(), bytesOf(random.split())]
  const log = Logger.make(({ cause, message }) => {
    const [error] = Cause.prettyErrors(cause)
    trace.add("log", `${String(message).slice(0, 200)} ${error?.message ?? ""}`)
  })
  const digests = Effect.runSync(Effect.scoped(Layer.build(Layer.merge(NodeCiphers.layer, NodeDigests.layer))))
  return Context.merge(
    digests,
    Context.make(Clock.Clock, timeline.clock).pipe(
      Context.add(Scheduler.Scheduler, timeline.scheduler),
      Context.add(Random.Random, {
        nextDoubleUnsafe: jitter.next,
        nextIntUnsafe: () => jitter.between(-(2 ** 31), 2 ** 31)
      }),
      Context.add(RandomBytes, bytes),
      Context.add(NextId, generator(timeline.now, ids)),
      Context.add(RootKeys, [Redacted.make(new Uint8Array(32).fill(7))]),
      Context.add(References.TracerEnabled, false),
      Context.add(References.MinimumLogLevel, "Warn"),
      Context.add(Logger.CurrentLoggers, new Set([log]))
    )
  )
}
