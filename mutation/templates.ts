/**
 * Adds the changes of `sql.ts` to Stryker's mutators, in place of emptying a text that is SQL.
 *
 * Stryker has no plugins for mutators, so this adds to its list, before it reads the files.
 */
import { changed, changesOf, isSql } from "./sql.ts"

interface Template {
  readonly type: "TemplateLiteral"
  readonly quasis: ReadonlyArray<
    { readonly type: "TemplateElement"; readonly value: { readonly raw: string }; readonly tail: boolean }
  >
  readonly expressions: ReadonlyArray<object>
}

interface Path {
  readonly node: Template | { readonly type: "StringLiteral"; readonly value: string } | { readonly type: string }
}

interface Mutator {
  readonly name: string
  mutate: (path: Path) => Iterable<object>
}

/** One character for each expression of a template, of Unicode's private use area. */
const placeholder = (index: number): string => String.fromCodePoint(0xe000 + index)

const textOf = ({ quasis }: Template): string =>
  quasis.map(({ value }, index) => index === 0 ? value.raw : placeholder(index - 1) + value.raw).join("")

/** Returns the template of a text with placeholders. A change can have removed some of them. */
const templateOf = (text: string, { expressions }: Template): Template => {
  const parts = text.split(/([\u{e000}-\u{f8ff}])/u)
  const raws = parts.filter((_, index) => index % 2 === 0)
  return {
    type: "TemplateLiteral",
    quasis: raws.map((raw, index) => ({ type: "TemplateElement", value: { raw }, tail: index === raws.length - 1 })),
    expressions: parts.filter((_, index) => index % 2 === 1).flatMap((part) =>
      expressions[(part.codePointAt(0) ?? 0) - 0xe000] ?? []
    )
  }
}

const isTemplate = (node: Path["node"]): node is Template => node.type === "TemplateLiteral"

function* mutate({ node }: Path): Iterable<object> {
  const [text, make] = isTemplate(node)
    ? [textOf(node), (changedText: string): object => templateOf(changedText, node)]
    : ["value" in node ? node.value : "", (value: string): object => ({ type: "StringLiteral", value })]
  for (const change of changesOf(text)) yield make(changed(text, change))
}

const isSqlPath = ({ node }: Path): boolean =>
  isTemplate(node) ? isSql(textOf(node)) : node.type === "StringLiteral" && "value" in node && isSql(node.value)

const url = new URL("../node_modules/@stryker-mutator/instrumenter/dist/src/mutators/mutate.js", import.meta.url)
const { allMutators }: { readonly allMutators: ReadonlyArray<Mutator> } = await import(url.href)

const texts = allMutators.find(({ name }) => name === "StringLiteral")
if (texts === undefined) throw new Error("Stryker has no mutator of texts.")
const empty = texts.mutate
texts.mutate = (path) => isSqlPath(path) ? mutate(path) : empty(path)
