/** The message for a request that does not match its schema. */
import { type SchemaAST, SchemaIssue } from "effect"

export interface Explanation {
  /** The dotted path of the parameter or field at fault, null for the whole. */
  readonly param: string | null
  readonly message: string
}

interface Place {
  readonly issue: SchemaIssue.Issue
  readonly path: ReadonlyArray<PropertyKey>
}

const format = SchemaIssue.makeFormatterStandardSchemaV1({
  leafHook: (issue) => {
    switch (issue._tag) {
      case "MissingKey":
        return "is required"
      case "UnexpectedKey":
        return "is not known here"
      case "InvalidType":
        // By default the message has the name of an internal type.
        return issue.ast._tag === "Objects" ? "Expected an object" : SchemaIssue.defaultLeafHook(issue)
      default:
        return SchemaIssue.defaultLeafHook(issue)
    }
  }
})

/** Returns the values of `type` by which the cases of a union differ, if they do. */
const typesOf = (ast: SchemaAST.AST): ReadonlyArray<unknown> =>
  ast._tag !== "Union" ? [] : ast.types.flatMap((member) => {
    if (member._tag !== "Objects") return []
    const type = member.propertySignatures.find(({ name }) => name === "type")?.type
    return type?._tag === "Literal" ? [type.literal] : []
  })

const first = ({ issue, path }: Place): Place => {
  switch (issue._tag) {
    case "Encoding":
      return first({ issue: issue.issue, path })
    case "Pointer":
      return first({ issue: issue.issue, path: [...path, ...issue.path] })
    case "Composite":
      return first({ issue: issue.issues[0], path })
    case "AnyOf":
      return issue.issues[0] === undefined ? { issue, path } : first({ issue: issue.issues[0], path })
    // A filter may say what it expects of a place further in.
    case "Filter":
      return issue.issue._tag === "Pointer" ? first({ issue: issue.issue, path }) : { issue, path }
    default:
      return { issue, path }
  }
}

/** Returns a name for a message: an empty one in quotes, so that it can be seen. */
export const shown = (param: string): string => param === "" ? "\"\"" : param

/** Returns the first thing that is wrong. */
export const explain = (whole: SchemaIssue.Issue): Explanation => {
  const { issue, path } = first({ issue: whole, path: [] })
  const types = issue._tag === "AnyOf" ? typesOf(issue.ast) : []
  const named = types.length === 0 ? path : [...path, "type"]
  const param = named.length === 0 ? null : named.map(String).join(".")
  const what = types.length === 0
    ? format(issue).issues[0]?.message ?? "is invalid"
    : `Expected ${types.map((type) => JSON.stringify(type)).join(" | ")}`
  const where = param === null ? "The body" : shown(param)
  return { param, message: what.startsWith("is ") ? `${where} ${what}.` : `${where}: ${what}.` }
}
