/**
 * A limit of actions per minute and key, in this process. `Turns` limits what happens at once, and the store counts the requests of API
 * keys; a login has no key, and must cost no statement.
 */

/**
 * The maximum number of keys that are counted in one minute. A further one replaces the one that was counted least recently, so that a
 * client with many addresses cannot use up the counts of others.
 */
const keys_max = 10_000

const minute_millis = 60_000

export class MinuteLimit {
  private readonly max: number
  private minute = 0
  /** The key that was counted least recently is the first. */
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
    const count = (this.counts.get(key) ?? 0) + 1
    this.counts.delete(key)
    const [oldest] = this.counts.keys()
    if (this.counts.size >= keys_max && oldest !== undefined) this.counts.delete(oldest)
    this.counts.set(key, count)
    return count <= this.max ? 0 : Math.ceil(((minute + 1) * minute_millis - now_millis) / 1000)
  }
}
