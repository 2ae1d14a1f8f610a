/** The message for a request that does not match its schema. */
import { Predicate, type SchemaAST, SchemaIssue } from "effect"
import { shown, unknownField, withUnseen } from "../api/ErrorTexts.ts"

export interface Explanation {
  /** The dotted path of the parameter or field at fault, null for the whole. */
  readonly param: string | null
  readonly message: string
}

interface Place {
  readonly issue: SchemaIssue.Issue
  readonly path: ReadonlyArray<PropertyKey>
  /** The value as it was sent; undefined if the parser does not report input. */
  readonly input: unknown
}

/** Returns an issue without its input, which the formatter would repeat in the message. */
const withoutInput = (issue: SchemaIssue.Issue): SchemaIssue.Issue => {
  const { input: _input, ...rest } = issue
  // A copy of the same kind.
  return (issue._tag === "Filter" ? { ...rest, issue: withoutInput(issue.issue) } : rest) as SchemaIssue.Issue
}

const format = SchemaIssue.makeFormatterStandardSchemaV1({
  leafHook: (issue) =>
    // By default the message has the name of an internal type.
    issue._tag === "InvalidType" && issue.ast._tag === "Objects"
      ? "Expected an object"
      : SchemaIssue.defaultLeafHook(issue)
})

/** The requirements that read better in other words than the schema's. */
const wordings: ReadonlyArray<readonly [RegExp, string]> = [
  [/^a string with between (\d+) and (\d+) code points$/, "be $1 to $2 characters long"],
  [/^a string with (at least|at most) (\d+) code points$/, "be $1 $2 characters long"],
  [/^a value with a length of at least 1$/, "have at least 1 item"],
  [/^a value with a length of (at least|at most) (\d+)$/, "have $1 $2 items"],
  [/^a value with a length between (\d+) and (\d+)$/, "have $1 to $2 items"],
  [/^an array with unique items$/, "have no duplicate items"],
  [/^a value between (\d+) and (\d+)$/, "be an integer from $1 to $2"],
  [/^boolean$/, "be true or false"],
  [/^(array|integer|object)$/, "be an $1"],
  [/^(string|number)$/, "be a $1"],
  [/^/, "be "]
]

/** Returns what a value must be or have. */
const requirementOf = (expected: string): string => {
  const choices = expected.split(" | ")
  if (choices.length === 2 && choices[1] === "null") return `${requirementOf(choices[0] ?? "")} or null`
  if (choices.length > 1) return `be one of: ${choices.map((choice) => choice.replaceAll("\"", "")).join(", ")}`
  const wording = wordings.find(([pattern]) => pattern.test(expected))
  return wording === undefined ? expected : expected.replace(...wording)
}

/** Returns the values of `type` by which the cases of a union differ, if they do. */
const typesOf = (ast: SchemaAST.AST): ReadonlyArray<unknown> =>
  ast._tag !== "Union" ? [] : ast.types.flatMap((member) => {
    if (member._tag !== "Objects") return []
    const type = member.propertySignatures.find(({ name }) => name === "type")?.type
    return type?._tag === "Literal" ? [type.literal] : []
  })

/** Returns the value at a path. */
const valueAt = (value: unknown, path: ReadonlyArray<PropertyKey>): unknown =>
  path.reduce((outer, key) => Predicate.isObjectOrArray(outer) ? Reflect.get(outer, key) : undefined, value)

const first = ({ issue, path, input: outer }: Place): Place => {
  // An inner issue of a value that was normalized has the normalized one.
  const input = outer ?? issue.input
  switch (issue._tag) {
    case "Encoding":
      return first({ issue: issue.issue, path, input })
    case "Pointer":
      return first({ issue: issue.issue, path: [...path, ...issue.path], input: valueAt(input, issue.path) })
    case "Composite":
      return first({ issue: issue.issues[0], path, input })
    case "AnyOf":
      return issue.issues[0] === undefined ? { issue, path, input } : first({ issue: issue.issues[0], path, input })
    // A filter can report its expectation for a nested field.
    case "Filter":
      return issue.issue._tag === "Pointer" ? first({ issue: issue.issue, path, input }) : { issue, path, input }
    default:
      return { issue, path, input }
  }
}

/** Returns the first problem of a request. */
export const explain = (whole: SchemaIssue.Issue): Explanation => {
  const { input, issue, path } = first({ issue: whole, path: [], input: undefined })
  const types = issue._tag === "AnyOf" ? typesOf(issue.ast) : []
  const named = types.length === 0 ? path : [...path, "type"]
  const param = named.length === 0 ? null : named.map(String).join(".")
  const where = param === null ? "The body" : shown(param)
  if (issue._tag === "MissingKey") return { param, message: `${where} is required.` }
  if (issue._tag === "UnexpectedKey") {
    return { param, message: unknownField(where).message }
  }
  const expected = types.length === 0
    ? (format(withoutInput(issue)).issues[0]?.message ?? "a valid value").replace(/^Expected /, "")
    : types.map((type) => JSON.stringify(type)).join(" | ")
  const message = `${where} must ${requirementOf(expected)}.`
  return { param, message: typeof input === "string" ? withUnseen(message, input) : message }
}
