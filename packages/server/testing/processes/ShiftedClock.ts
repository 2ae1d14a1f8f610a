/** Processes on a host with a wrong clock. */

/**
 * Returns the environment of a Node process whose wall clock is `millis` ahead, or behind if negative. With
 * `after_millis`, the clock is right at first, and then jumps. Monotonic time stays right, as on a real host.
 */
export const shiftedClock = (millis: number, after_millis = 0): Readonly<Record<string, string>> => {
  const program = `
    const now = Date.now
    const Time = Date
    const shifted = () => now() + (performance.now() < ${after_millis} ? 0 : ${millis})
    globalThis.Date = class Date extends Time {
      constructor(...values) {
        super(...(values.length === 0 ? [shifted()] : values))
      }
      static now() {
        return shifted()
      }
    }
  `
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(program)}` }
}
