/** Leaves declarations alone: schemas, tables, names of services and traces, and the texts of defects. */
import { declareValuePlugin, PluginKind } from "@stryker-mutator/api/plugin"

interface Node {
  readonly type: string
  readonly name?: string
  readonly callee?: Node
  readonly object?: Node
  readonly property?: Node
}

/** Returns the dotted name of a call, such as `Schema.Struct`. */
const nameOf = (node: Node | undefined): string => {
  switch (node?.type) {
    case "Identifier":
      return node.name ?? ""
    case "MemberExpression":
      return `${nameOf(node.object)}.${nameOf(node.property)}`
    case "CallExpression":
      return nameOf(node.callee)
    case "TSInstantiationExpression":
      return nameOf((node as { readonly expression?: Node }).expression)
    default:
      return ""
  }
}

// `Context.Service<Self, Shape>()("name")` is a call of a call.
const declared = /^(Schema|Context)\.|^(Changes\.rows|rows|traced|operation|Error|TypeError)$|\.annotate$/

/** The functions that `traced` and `operation` wrap are arguments of a second call, which is mutated. */
const isName = (node: Node): boolean =>
  node.callee?.type !== "CallExpression" || !/^(traced|operation)$/.test(nameOf(node))

interface Path {
  readonly node: Node
}

export const strykerPlugins = [
  declareValuePlugin(PluginKind.Ignore, "declarations", {
    shouldIgnore: ({ node }: Path) =>
      (node.type === "CallExpression" || node.type === "NewExpression") && declared.test(nameOf(node)) && isName(node)
        ? "a declaration"
        : undefined
  })
]
