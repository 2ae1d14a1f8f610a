/** JSON schemas that Fastify compiles: validators of requests and serializers of responses. */

/** Text that the serializer does not escape. */
export const plain = { type: "string", format: "unsafe" } as const
export const plainOrNull = { ...plain, nullable: true } as const
export const text = { type: "string" } as const
export const textOrNull = { ...text, nullable: true } as const

export const uuid = {
  type: "string",
  pattern: "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$"
} as const

/** An object with exactly these properties. */
export const closedObject = (properties: Readonly<Record<string, unknown>>) => ({
  type: "object",
  properties,
  required: Object.keys(properties),
  additionalProperties: false
})

/** An object with some of these properties. */
export const request = (properties: Readonly<Record<string, unknown>>, required: ReadonlyArray<string> = []) => ({
  type: "object",
  properties,
  required,
  additionalProperties: false
})

export const data = (item: unknown) => closedObject({ data: item })

export const page = (item: unknown) => closedObject({ data: { type: "array", items: item }, next_cursor: textOrNull })

export const page_size = { type: "string", pattern: "^([1-9][0-9]?|100)$" } as const
export const cursor = { type: "string", minLength: 1, maxLength: 2048 } as const
