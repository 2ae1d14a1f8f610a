// Limits the number of requests that a burst of changes or a double click causes.

/** Returns a function that ignores calls during a call, so that a double click sends one message. */
export const oneAtATime = (run) => {
  let isRunning = false
  return async (...values) => {
    if (isRunning) return
    isRunning = true
    try {
      await run(...values)
    } finally {
      isRunning = false
    }
  }
}

/** Returns a function that calls another one shortly after it is called, and at most once per second: a burst causes few requests. */
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
      }, 900)
    }, 100)
  }
  return () => {
    if (isScheduled) isCalledAgain = true
    else schedule()
  }
}
