/** The violations that a drill reports. */

/** Returns the names of the violations that occurred. */
export const occurredViolations = (violations: Readonly<Record<string, boolean>>): ReadonlyArray<string> =>
  Object.entries(violations).filter(([, occurred]) => occurred).map(([violation]) => violation)
