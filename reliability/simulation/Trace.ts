/** The steps of a run in order: for debugging, and to compare two runs of a seed. */

export interface Trace {
  readonly add: (who: string, what: string) => void
  /** Returns the last lines. */
  readonly last: (count: number) => ReadonlyArray<string>
  /** Returns a hash of all lines. */
  readonly hash: () => string
}

const time = (millis: number): string => {
  const days = Math.floor(millis / 86_400_000)
  return `day ${days} ${new Date(millis % 86_400_000).toISOString().slice(11, 23)}`
}

/** Makes a trace whose times are relative to `epoch`. */
export const make = (epoch: number, now: () => number): Trace => {
  const lines: Array<string> = []
  let hash = 0x811c9dc5
  return {
    add: (who, what) => {
      const line = `${now() - epoch} ${who}: ${what}`
      for (let index = 0; index < line.length; index++) hash = Math.imul(hash ^ line.charCodeAt(index), 0x01000193)
      lines.push(line)
    },
    last: (count) =>
      lines.slice(-count).map((line) => {
        const [millis = "", ...rest] = line.split(" ")
        return `${time(Number(millis))} ${rest.join(" ")}`
      }),
    hash: () => (hash >>> 0).toString(16)
  }
}
