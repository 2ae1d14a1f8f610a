/** Arguments of a benchmark. An invalid one throws an error that names it. */

/** Returns the positive number that a text contains. */
export const positive = (name: string, text: string): number => {
  const number = Number(text)
  if (Number.isFinite(number) && number > 0) return number
  throw new Error(`${name} must be a positive number, not ${JSON.stringify(text)}.`)
}

/** Returns positional numbers in the order of their names. A missing one has its default. */
export const numbers = <Name extends string>(
  defaults: Readonly<Record<Name, number>>,
  texts: ReadonlyArray<string> = process.argv.slice(2)
): Readonly<Record<Name, number>> => {
  const names = Object.keys(defaults)
  const entries = texts.map((text, index) => {
    const name = names[index]
    if (name === undefined) throw new Error(`The arguments must be at most: ${names.join(", ")}.`)
    return [name, positive(name, text)] as const
  })
  return { ...defaults, ...Object.fromEntries(entries) }
}

/** Returns the known names that the arguments contain, in the known order. Without arguments, it returns all. */
export const select = <Name extends string>(
  title: string,
  known: ReadonlyArray<Name>,
  texts: ReadonlyArray<string> = []
): ReadonlyArray<Name> => {
  const names: ReadonlyArray<string> = known
  const unknown = texts.find((text) => !names.includes(text))
  if (unknown !== undefined) {
    throw new Error(`${title} must be among ${names.join(", ")}, not ${JSON.stringify(unknown)}.`)
  }
  return texts.length === 0 ? known : known.filter((name) => texts.includes(name))
}
