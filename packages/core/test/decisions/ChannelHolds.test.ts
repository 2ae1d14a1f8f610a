import { assert, describe, it } from "@effect/vitest"
import * as Changes from "@messaging-crm/core/Changes"
import * as Holds from "@messaging-crm/core/ChannelHolds"
import { ChannelId } from "@messaging-crm/core/Ids"
import { DateTime, Option } from "effect"
import { id, noon } from "./Fixtures.ts"

const channel_id = ChannelId.make(id(7))
const at = (seconds: number) => DateTime.add(noon, { seconds })

/** A throttle that began at noon. */
const throttled = (fields: Partial<Holds.ChannelHold> = {}): Holds.ChannelHoldRow => ({
  channel_id,
  reason: "rate_limited",
  held_at: noon,
  until: at(1),
  level: 0,
  version: 3,
  ...fields
})
const paused = throttled({ reason: "provider_auth", until: null })

const none = Option.none<Holds.ChannelHoldRow>()

describe("a hold of a channel", () => {
  it("is active until its time, and a pause without end", () => {
    const isActive = (hold: Holds.ChannelHoldRow, seconds: number) =>
      Option.isSome(Holds.active(Option.some(hold), at(seconds)))
    assert.deepStrictEqual([0, 0.999, 1, 2].map((seconds) => isActive(throttled(), seconds)), [
      true,
      true,
      false,
      false
    ])
    assert.isTrue(isActive(paused, 1_000_000))
    assert.isTrue(Option.isNone(Holds.active(none, noon)))
  })

  it("is a pause once, also where it was a throttle", () => {
    const pause = { reason: "channel_blocked", held_at: at(9), until: null, level: 0 } as const
    assert.deepStrictEqual(
      Holds.pause(none, channel_id, "channel_blocked", at(9)),
      Holds.ChannelHoldRows.insert({ channel_id, ...pause })
    )
    assert.deepStrictEqual(
      Holds.pause(Option.some(throttled()), channel_id, "channel_blocked", at(9)),
      Holds.ChannelHoldRows.update(throttled(), pause)
    )
    assert.deepStrictEqual(Holds.pause(Option.some(paused), channel_id, "channel_blocked", at(9)), Changes.none)
    assert.deepStrictEqual(Holds.throttle(Option.some(paused), channel_id, 60, at(9)), Changes.none)
  })

  it("throttles for the requested time, or else for longer after each close repetition, up to eight seconds", () => {
    let row = none
    let now = noon
    const lengths: Array<number> = []
    for (let turn = 0; turn < 8; turn++) {
      const [update, insert] = [Holds.throttle(row, channel_id, null, now), Holds.throttle(none, channel_id, null, now)]
      const set = { ...insert.insert?.[0]?.rows[0], ...update.update?.[0]?.set }
      const next = throttled(set)
      lengths.push((Number(next.until?.epochMilliseconds) - now.epochMilliseconds) / 1000)
      row = Option.some(next)
      now = next.until ?? now
    }
    assert.deepStrictEqual(lengths, [1, 2, 4, 8, 8, 8, 8, 8])
    assert.strictEqual(Option.getOrThrow(row).level, 6)
    const asked = (seconds: number) => Holds.throttle(none, channel_id, seconds, noon).insert?.[0]?.rows[0]
    assert.deepInclude(asked(30), { until: at(30) })
    assert.deepInclude(asked(999_999), { until: at(86_400) })
  })

  it("is not made longer by responses to attempts in progress, unless they request more", () => {
    const active = Option.some(throttled({ until: at(10) }))
    assert.deepStrictEqual(Holds.throttle(active, channel_id, null, at(5)), Changes.none)
    assert.deepStrictEqual(Holds.throttle(active, channel_id, 5, at(5)), Changes.none)
    assert.deepStrictEqual(
      Holds.throttle(active, channel_id, 6, at(5)),
      Holds.ChannelHoldRows.update(throttled(), { until: at(11) })
    )
  })

  it("begins at the lowest level again after a minute without one", () => {
    const level = (seconds: number) =>
      Holds.throttle(Option.some(throttled({ level: 2 })), channel_id, null, at(seconds)).update?.[0]?.set["level"]
    // It lasted until 12:00:01, and what had waited was spread over 16 seconds.
    assert.strictEqual(level(1 + 16 + 59), 3)
    assert.strictEqual(level(1 + 16 + 60), 0)
  })

  it("gives every send that waits a place within the spread after a throttle", () => {
    const checkAfter = (level: number, tail: string) =>
      Number(Holds.nextCheck(throttled({ level }), `${id(1).slice(0, -6)}${tail}`, noon).epochMilliseconds)
      - at(1).epochMilliseconds
    assert.deepStrictEqual([checkAfter(0, "000000"), checkAfter(0, "800000"), checkAfter(0, "ffffff")], [0, 2000, 3999])
    assert.deepStrictEqual([checkAfter(6, "000000"), checkAfter(6, "800000"), checkAfter(6, "ffffff")], [
      0,
      128_000,
      255_999
    ])
  })

  it("is looked at again after a tenth of a pause so far, from 5 seconds to 2 minutes", () => {
    const after = (seconds: number) =>
      (Holds.nextCheck(paused, id(1), at(seconds)).epochMilliseconds - at(seconds).epochMilliseconds) / 1000
    assert.deepStrictEqual([0, 50, 100, 600, 1200, 90_000].map(after), [5, 5, 10, 60, 120, 120])
  })
})
