/** The promise of docs/high-availability.md. */

/** The longest time from a fault to the first write, in milliseconds. */
export const first_write_max_ms = 40_000
