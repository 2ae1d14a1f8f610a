/** Converts a value in one direction, and trusts that it is valid. */
export type Converter = (value: unknown) => unknown

/** The converter of a value that stays as it is. A converter that contains only this one is this one, so that it costs nothing. */
export const identity: Converter = (value) => value

/** Returns the converter that applies others in their order. */
export const composed = (converters: ReadonlyArray<Converter>): Converter => {
  const [first = identity, ...others] = converters.filter((convert) => convert !== identity)
  return others.reduce((before, after) => (value) => after(before(value)), first)
}
