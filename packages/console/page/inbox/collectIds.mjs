// Collects the IDs of changed conversations until the page reads the conversations again.

/**
 * Returns functions that collect IDs, and that pass them to `read`. If `read` fails, the IDs are collected again, so that
 * the next call passes them, too.
 *
 * @param {(ids: ReadonlyArray<string>) => Promise<void>} read
 */
export const collectIds = (read) => {
  /** @type {Set<string>} */
  const ids = new Set()
  return {
    /** @param {string} id */
    add: (id) => void ids.add(id),
    readAll: async () => {
      const all = Array.from(ids)
      ids.clear()
      try {
        await read(all)
      } catch (error) {
        for (const id of all) ids.add(id)
        throw error
      }
    }
  }
}
