/** Content: the complete text or template of a send. */
import { Schema } from "effect"
import type { TextLimit } from "../catalog/Channels.ts"
import { utf8Bytes } from "../kernel/Text.ts"
import { TemplateValues } from "./Template.ts"

/**
 * Schema for the complete content of a send, so that the worker has to load nothing else to send it.
 *
 * It is stored as JSON, so cases may be added and must not be renamed. A worker of the previous version leaves a send of
 * an unknown case to a newer worker, but ignores an unknown field. So anything that changes the message must be a new case.
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

/** Returns whether this version can send a content, which a newer version may have stored. */
export const isKnownContent = Schema.is(Content)

/** The text is longer than the network of its channel accepts. */
export class TextTooLong extends Schema.TaggedError<TextTooLong>()("TextTooLong", {
  channel_type: Schema.String,
  max: Schema.Int,
  unit: Schema.Literals(["bytes", "characters"])
}) {}

/** Returns whether a text is within a limit. */
export const isWithin = (text: string, { max, unit }: TextLimit): boolean =>
  unit === "bytes" ? utf8Bytes(text) <= max : text.length <= max || Array.from(text).length <= max
