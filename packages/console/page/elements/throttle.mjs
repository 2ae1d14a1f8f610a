// Limits the number of requests that a burst of changes or a double click causes.

/**
 * Returns a function that ignores a call while `run` is running, so that a double click sends one message.
 *
 * @template {Array<unknown>} Values
 * @param {(...values: Values) => Promise<unknown>} run
 */
export const oneAtATime = (run) => {
  let isRunning = false
  return async (/** @type {Values} */ ...values) => {
    if (isRunning) return
    isRunning = true
    try {
      await run(...values)
    } finally {
      isRunning = false
    }
  }
}

/**
 * Returns a function that calls `run` shortly after it is called, and at most every two seconds, so that continuous changes
 * cause few requests.
 *
 * @param {() => unknown} run
 */
export const throttled = (run) => {
  let isScheduled = false
  let isCalledAgain = false
  const schedule = () => {
    isScheduled = true
    setTimeout(async () => {
      isCalledAgain = false
      await run()
      setTimeout(() => {
        isScheduled = false
        if (isCalledAgain) schedule()
      }, 1900)
    }, 100)
  }
  return () => {
    if (isScheduled) isCalledAgain = true
    else schedule()
  }
}
