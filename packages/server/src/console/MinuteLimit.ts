/** A limit of actions per minute and key, in this process. */

/** The maximum number of keys that are counted separately in one minute. The others share one count. */
const keys_max = 10_000

const minute_millis = 60_000

export class MinuteLimit {
  private readonly max: number
  private minute = 0
  private readonly counts = new Map<string, number>()

  constructor(max: number) {
    this.max = max
  }

  /** Counts an action, and returns for how many seconds its key is above the limit; 0 if it is within the limit. */
  count(key: string, now_millis: number): number {
    const minute = Math.floor(now_millis / minute_millis)
    if (minute !== this.minute) {
      this.minute = minute
      this.counts.clear()
    }
    const counted = this.counts.has(key) || this.counts.size < keys_max ? key : ""
    const count = (this.counts.get(counted) ?? 0) + 1
    this.counts.set(counted, count)
    return count <= this.max ? 0 : Math.ceil(((minute + 1) * minute_millis - now_millis) / 1000)
  }
}
