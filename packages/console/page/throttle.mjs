// Limits how often a burst of changes causes a request.

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
