import { assert, it } from "@effect/vitest"
import { Effect, Tracer } from "effect"
import { samplers, type Sampling, samplingTracer } from "../../src/observability/Sampling.ts"

const recording = Tracer.make({ span: (options) => new Tracer.NativeSpan(options) })

/** Returns whether a span is sampled, and whether its child is. */
const sampledBy = (sampling: Sampling, options?: Tracer.SpanOptions) =>
  Effect.gen(function*() {
    const span = yield* Effect.currentSpan
    const child = yield* Effect.currentSpan.pipe(Effect.withSpan("child"))
    return [span.sampled, child.sampled]
  }).pipe(Effect.orDie, Effect.withSpan("root", options), Effect.withTracer(samplingTracer(recording, sampling)))

const callers = [undefined, true, false] as const

/** Whether a root is sampled, a span below a sampled caller, and one below a caller that is not. */
const expected: Readonly<Record<Sampling["sampler"], ReadonlyArray<boolean>>> = {
  always_on: [true, true, true],
  always_off: [false, false, false],
  traceidratio: [true, true, true],
  parentbased_always_on: [true, true, false],
  parentbased_always_off: [false, true, false],
  parentbased_traceidratio: [true, true, false]
}

it.effect("each sampler decides by the caller, and the same for all spans of a trace", () =>
  Effect.gen(function*() {
    for (const sampler of samplers) {
      for (const [index, sampled] of callers.entries()) {
        const caller = { traceId: "4bf92f3577b34da6a3ce929d0e0e4736", spanId: "00f067aa0ba902b7" }
        const options = sampled === undefined ? {} : { parent: Tracer.externalSpan({ ...caller, sampled }) }
        const isSampled = expected[sampler][index]
        assert.deepStrictEqual(yield* sampledBy({ sampler, ratio: 1 }, options), [isSampled, isSampled], sampler)
      }
    }
  }))

it.effect("a ratio selects its part of the traces, by their IDs", () =>
  Effect.gen(function*() {
    const selected = (ratio: number, last: string) =>
      sampledBy({ sampler: "traceidratio", ratio }, {
        parent: Tracer.externalSpan({ traceId: `${"f".repeat(19)}${last}`, spanId: "00f067aa0ba902b7" })
      })
    const none = "0".repeat(13)
    const all = "f".repeat(13)
    assert.deepStrictEqual(yield* selected(0, all), [false, false])
    assert.deepStrictEqual(yield* selected(0.25, all), [true, true])
    assert.deepStrictEqual(yield* selected(0.25, `c${"0".repeat(12)}`), [true, true])
    assert.deepStrictEqual(yield* selected(0.25, `b${"f".repeat(12)}`), [false, false])
    assert.deepStrictEqual(yield* selected(0.999, none), [false, false])
    assert.deepStrictEqual(yield* selected(1, none), [true, true])
  }))
