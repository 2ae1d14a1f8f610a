import { limits } from "@messaging-crm/core/Limits"
import { text } from "@messaging-crm/core/Text"
import { Schema, SchemaGetter } from "effect"

/** Schema for the success body of one resource (contract §3.1). */
export const Single = <S extends Schema.Top>(resource: S) => Schema.Struct({ data: resource })

/** Schema for the success body of a list. A complete list always has a null cursor. */
export const List = <S extends Schema.Top>(resource: S) =>
  Schema.Struct({
    data: Schema.Array(resource),
    next_cursor: Schema.NullOr(Schema.String).annotate({
      description: "The `cursor` of the next page. Null on the last page, and always null for a list without pages."
    })
  })

/** Schema for `cursor`, which is opaque. An empty one counts as absent. */
export const cursor = Schema.optionalKey(
  text({ min: 0, max: limits.cursor_chars_max }).annotate({
    description: "The `next_cursor` of the previous page."
  })
)

/** Schema for an integer of a query, without a sign and without leading zeros. */
export const queryInteger = (minimum: number, maximum: number) =>
  Schema.String.check(
    Schema.isPattern(/^(0|[1-9][0-9]{0,8})$/, { expected: `an integer from ${minimum} to ${maximum}` })
  ).pipe(
    Schema.decodeTo(Schema.Int.check(Schema.isBetween({ minimum, maximum })), {
      decode: SchemaGetter.transform(Number),
      encode: SchemaGetter.transform(String)
    })
  )

export const page_size = Schema.optionalKey(queryInteger(limits.page_size_min, limits.page_size_max))

/** Returns the page that a query asks for. An empty cursor counts as absent. */
export const paging = (query: { readonly cursor?: string; readonly page_size?: number }) => ({
  cursor: query.cursor === undefined || query.cursor === "" ? null : query.cursor,
  page_size: query.page_size ?? limits.page_size_default
})
