import { Schema } from "effect"
import { TemplateValues } from "./Template.ts"

/**
 * Schema for the complete content of a send, so that the worker has to load nothing else to send it.
 *
 * It is stored as JSON, so cases may be added and must not be renamed.
 */
export const Content = Schema.Union([
  Schema.Struct({ type: Schema.Literal("text"), text: Schema.String }),
  Schema.Struct({
    type: Schema.Literal("template"),
    template: Schema.Struct({
      id: Schema.String,
      name: Schema.String,
      language: Schema.String,
      components: Schema.Array(TemplateValues)
    }),
    /** The body with its placeholders filled, as the recipient reads it. */
    text: Schema.String
  })
])
export type Content = typeof Content.Type
