/**
 * An append-only list as an immutable value, with the cost of an array.
 *
 * All states of a list share one array. Each knows how much of it is its own, and only the newest appends to it.
 */

export interface Log<Entry> {
  readonly entries: Array<Entry>
  readonly length: number
}

export const empty = <Entry>(): Log<Entry> => ({ entries: [], length: 0 })

export const append = <Entry>(log: Log<Entry>, added: ReadonlyArray<Entry>): Log<Entry> => {
  // A state that was discarded, or another one, has appended already.
  const entries = log.entries.length === log.length ? log.entries : log.entries.slice(0, log.length)
  entries.push(...added)
  return { entries, length: entries.length }
}

export const last = <Entry>({ entries, length }: Log<Entry>): Entry | undefined => entries[length - 1]

/** Returns at most `size` entries, from the first that is not before a position. The entries must be in order. */
export const from = <Entry>(
  { entries, length }: Log<Entry>,
  isBefore: (entry: Entry) => boolean,
  size: number
): ReadonlyArray<Entry> => {
  let [start, end] = [0, length]
  while (start < end) {
    const middle = Math.floor((start + end) / 2)
    const entry = entries[middle]
    if (entry !== undefined && isBefore(entry)) start = middle + 1
    else end = middle
  }
  return entries.slice(start, Math.min(start + size, length))
}

export const filter = <Entry>({ entries, length }: Log<Entry>, keeps: (entry: Entry) => boolean): Log<Entry> => {
  const kept = entries.slice(0, length).filter(keeps)
  return { entries: kept, length: kept.length }
}
