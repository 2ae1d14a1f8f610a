/** The descriptions of the error codes on the page: a table that is made of the document's error responses. */

/** A document whose error responses have schemas that list their codes. */
interface Document {
  readonly info: { readonly description?: string }
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly responses: object }>>>>
  readonly components: { readonly schemas: Readonly<Record<string, object>> }
}

/** The part of the schema of an error response that the table shows. */
interface ErrorSchema {
  readonly description: string
  readonly properties?: {
    readonly error?: { readonly properties?: { readonly code?: { readonly enum?: ReadonlyArray<string> } } }
  }
}

const anchor = "overview--error-"

/** The path to the description of an error code on the page, up to the code. The page finds its parts by this route. */
export const path_to_code = `/docs#?route=${anchor}`

const anchored = (code: string): string => `<span id="${anchor}${code}"></span>\`${code}\``

/** Returns each status of an error with its schema. */
const errorsOf = ({ components, paths }: Document): ReadonlyArray<readonly [status: string, ErrorSchema]> => {
  const responses = Object.values(paths).flatMap((item) =>
    Object.values(item).flatMap(({ responses }) => Object.entries(responses))
  )
  const statuses = new Map(
    responses.flatMap(([status, response]) =>
      // A shared response has the name of its schema.
      Array.from(
        JSON.stringify(response).matchAll(/#\/components\/(?:responses|schemas)\/(\w+)"/g),
        ([, name = ""]) => [name, status] as const
      )
    )
  )
  return Array.from(statuses).flatMap(([name, status]) =>
    // Every object of `schemas` is a JSON schema.
    Number(status) < 400 ? [] : [[status, components.schemas[name] as ErrorSchema] as const]
  )
}

const codesOf = ({ properties }: ErrorSchema): ReadonlyArray<string> => properties?.error?.properties?.code?.enum ?? []

/** Returns the introduction with a table of the error codes. The codes that its text alone describes can be linked too. */
export const withErrorCodes = (document: Document): string => {
  const seen = new Set<string>()
  const unseen = (code: string) => !seen.has(code) && seen.add(code).has(code)
  // Of two schemas with a code, the one with more codes is that of more operations.
  const rows = errorsOf(document)
    .toSorted(([, first], [, second]) => codesOf(second).length - codesOf(first).length)
    .flatMap(([status, schema]) => {
      const codes = codesOf(schema).filter(unseen)
      return codes.length === 0 ? [] : [`| ${status} | ${codes.map(anchored).join(", ")} | ${schema.description} |`]
    })
    .toSorted()
  const text = (document.info.description ?? "").replaceAll(
    /(\d{3}) `([a-z_]+)`/g,
    (found, status: string, code: string) => unseen(code) ? `${status} ${anchored(code)}` : found
  )
  return [text, "", "## Error codes", "", "| Status | Code | Meaning |", "|---|---|---|", ...rows].join("\n")
}
