/** Returns at most `limit` secrets that do not begin with `prefix`, ordered by ID, beginning after `after`. */
export const sealedOtherwise = <Secret extends { readonly id: string; readonly sealed_secret: string }>(
  secrets: ReadonlyArray<Secret>,
  prefix: string,
  after: string | null,
  limit: number
): ReadonlyArray<Secret> =>
  secrets
    .filter(({ id, sealed_secret }) => !sealed_secret.startsWith(prefix) && (after === null || id > after))
    .toSorted((a, b) => a.id < b.id ? -1 : 1)
    .slice(0, limit)
