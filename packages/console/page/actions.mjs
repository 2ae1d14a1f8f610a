// Actions and reads whose errors the page shows.
import { throttled } from "./elements/throttle.mjs"
import { state, updateState } from "./store.mjs"

/**
 * Returns the message of an error.
 *
 * @param {unknown} error
 */
export const errorMessageOf = (error) => error instanceof Error ? error.message : String(error)

/**
 * Shows an error above the page for 10 seconds.
 *
 * @param {string} message
 */
export const showError = (message) => {
  updateState({ error: message })
  setTimeout(() => state.error === message && updateState({ error: null }), 10_000)
}

/** Removes the error above the page, because the user has made another choice. */
export const clearError = () => {
  if (state.error !== null) updateState({ error: null })
}

/**
 * Wraps the action of a button or a key, so that the page shows its error.
 *
 * @template {Array<unknown>} Values
 * @template Result
 * @param {(...values: Values) => Promise<Result> | Result} run
 */
export const showingErrors = (run) => async (/** @type {Values} */ ...values) => {
  try {
    return await run(...values)
  } catch (error) {
    showError(errorMessageOf(error))
    return undefined
  }
}

/**
 * Returns a throttled function that reads something again. It shows an error, and then reads again, so that no other
 * change has to arrive.
 *
 * @param {() => Promise<unknown>} read
 */
export const refreshing = (read) => {
  const refresh = throttled(showingErrors(async () => {
    try {
      await read()
    } catch (error) {
      refresh()
      throw error
    }
  }))
  return refresh
}
