import { Schema } from "effect"
import { TemplateValues } from "./Template.ts"

/** Schema for what is sent, complete, so that the worker needs nothing else. Stored as JSON: cases are added, never renamed. */
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
    /** The body as the recipient reads it. */
    text: Schema.String
  })
])
export type Content = typeof Content.Type
