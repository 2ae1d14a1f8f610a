/** Changes of SQL: each condition, order, lock, limit, and comparison of a text. */

/** A change of a text: what a part of it becomes. */
export interface Change {
  readonly start: number
  readonly end: number
  readonly replacement: string
}

/** Keywords in capitals tell SQL from other texts. */
const keywords = /\b(SELECT|FROM|WHERE|AND|JOIN|ORDER BY|LIMIT|UPDATE|DELETE|INSERT)\b/

export const isSql = (text: string): boolean => keywords.test(text)

/** Replaces comments and quoted texts by as many spaces, so that no keyword is found in them. */
const masked = (text: string): string =>
  text.replaceAll(/--[^\n]*|'[^'\n]*'/g, (found) => (found.startsWith("'") ? "'" : " ").padEnd(found.length))

const tokens = /[(),;]|\$\$|\b[A-Z]+\b/g

/** What ends a condition or an order, if it is not in parentheses. */
const ends: ReadonlySet<string> = new Set(
  ("), , ; $$ AND OR WHERE ORDER GROUP LIMIT OFFSET FOR RETURNING JOIN LEFT INNER CROSS UNION HAVING ON THEN WHEN ELSE END " +
    "LOOP FROM AS SET USING SELECT").split(" ")
)

/** Returns where the expression after a keyword ends. */
const endAfter = (text: string, start: number, isEnd: (token: string) => boolean): number => {
  let [depth, isRange, isDistinct] = [0, false, false]
  for (const { 0: token, index } of text.slice(start).matchAll(tokens)) {
    if (depth === 0) {
      if (isRange && token === "AND") {
        isRange = false
        continue
      }
      if (!(isDistinct && token === "FROM") && isEnd(token)) return start + index
      isRange ||= token === "BETWEEN"
      isDistinct = token === "DISTINCT"
    }
    depth += token === "(" ? 1 : token === ")" ? -1 : 0
  }
  return depth === 0 ? text.length : start
}

/** Returns the bounds of what is between two places, without white space at its ends. */
const trimmed = (text: string, start: number, end: number) => {
  const part = text.slice(start, end)
  return [start + part.length - part.trimStart().length, end - part.length + part.trimEnd().length] as const
}

/** Makes each condition true. `OR true` keeps the types of its parameters, and the order of locks that some conditions set. */
const conditions = (text: string, hidden: string): ReadonlyArray<Change> =>
  Array.from(hidden.matchAll(/\b(WHERE|AND|OR|ON|WHEN)\b(?! CONFLICT| REPLACE)/g)).flatMap(({ 0: keyword, index }) => {
    if (/\bBETWEEN\s+\S+\s+$/.test(hidden.slice(0, index))) return []
    const after = index + keyword.length
    const [start, end] = trimmed(hidden, after, endAfter(hidden, after, (token) => ends.has(token)))
    const condition = text.slice(start, end)
    if (start >= end || /^true$|>= 0$/.test(condition)) return []
    return [{ start, end, replacement: `(${condition} OR true)` }]
  })

const orders = (hidden: string): ReadonlyArray<Change> =>
  Array.from(hidden.matchAll(/\bORDER BY\b/g), ({ 0: keyword, index }) => {
    const after = index + keyword.length
    return { start: index, end: endAfter(hidden, after, (token) => token !== "," && ends.has(token)), replacement: "" }
  })

const limits = (hidden: string): ReadonlyArray<Change> =>
  Array.from(hidden.matchAll(/\bLIMIT (?!1\b)/g), ({ 0: keyword, index }) => {
    const after = index + keyword.length
    return {
      start: after,
      end: trimmed(hidden, after, endAfter(hidden, after, (token) => ends.has(token)))[1],
      replacement: "ALL"
    }
  })

/** Removes or replaces what a pattern finds. */
const replaced = (
  hidden: string,
  pattern: RegExp,
  replacement: (found: string) => string
): ReadonlyArray<Change> =>
  Array.from(
    hidden.matchAll(pattern),
    ({ 0: found, index }) => ({ start: index, end: index + found.length, replacement: replacement(found) })
  )

const comparisons: Readonly<Record<string, string>> = { "<": "<=", "<=": "<", ">": ">=", ">=": ">" }

/** Returns every change of a text that is SQL, or a part of it. */
export const changesOf = (text: string): ReadonlyArray<Change> => {
  const hidden = masked(text)
  return [
    ...conditions(text, hidden),
    ...orders(hidden),
    ...limits(hidden),
    ...replaced(hidden, /\bFOR (NO KEY UPDATE|KEY SHARE|UPDATE|SHARE)( OF \w+)?( SKIP LOCKED)?/g, () => ""),
    ...replaced(hidden, / SKIP LOCKED\b/g, () => ""),
    ...replaced(hidden, /\bDISTINCT (?!FROM\b)/g, () => ""),
    ...replaced(hidden, /(?<= )[<>]=?(?= (?!0\b))/g, (sign) => comparisons[sign] ?? sign)
  ].toSorted((one, other) => one.start - other.start)
}

export const changed = (text: string, { end, replacement, start }: Change): string =>
  text.slice(0, start) + replacement + text.slice(end)
