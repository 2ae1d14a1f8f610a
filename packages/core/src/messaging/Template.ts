/** The data of a provider's template, and of the values for its placeholders (contract §9.5, §12.3). */
import { Schema } from "effect"
import { limits } from "../kernel/Limits.ts"
import { text } from "../kernel/Text.ts"

export const TemplateButton = Schema.Struct({
  type: Schema.String,
  text: Schema.NullOr(Schema.String),
  url: Schema.NullOr(Schema.String)
}).annotate({ identifier: "TemplateButton" })
export interface TemplateButton extends Schema.Schema.Type<typeof TemplateButton> {}

export const TemplateComponent = Schema.Struct({
  type: Schema.String.annotate({
    description: "Upper case. An open enumeration: `HEADER`, `BODY`, `FOOTER`, `BUTTONS` and others."
  }),
  text: Schema.NullOr(Schema.String).annotate({
    description: "With placeholders, numbered as in `{{1}}` or named as in `{{first_name}}`."
  }),
  format: Schema.NullOr(Schema.String).annotate({ description: "The format of a header: `TEXT`, `IMAGE` and others." }),
  buttons: Schema.NullOr(Schema.Array(TemplateButton))
}).annotate({ identifier: "TemplateComponent" })
export interface TemplateComponent extends Schema.Schema.Type<typeof TemplateComponent> {}

/** `category`, `status` and `parameter_format` are open enumerations, passed through from the provider. */
export const Template = Schema.Struct({
  id: Schema.String.annotate({ description: "Opaque; not a UUID." }),
  name: Schema.String,
  language: Schema.String,
  category: Schema.String.annotate({
    description: "An open enumeration of the provider: `MARKETING`, `UTILITY`, `AUTHENTICATION` and others."
  }),
  status: Schema.String.annotate({
    description:
      "An open enumeration of the provider: `APPROVED`, `PENDING`, `REJECTED`, `PAUSED`, `DISABLED` and more. Only an `APPROVED` template can be sent."
  }),
  phone_messaging_business_account_id: Schema.String.annotate({
    description: "The template can be sent on the channels of this account."
  }),
  parameter_format: Schema.String.annotate({
    description: "An open enumeration of the provider: `POSITIONAL`, `NAMED` and others."
  }),
  components: Schema.Array(TemplateComponent)
}).annotate({
  identifier: "Template",
  description: "A message template of the messaging provider, which approves or rejects it."
})
export interface Template extends Schema.Schema.Type<typeof Template> {}

export const TemplateParameter = Schema.Struct({
  type: Schema.Literal("text"),
  text: text({ min: limits.template_parameter_chars_min, max: limits.template_parameter_chars_max }),
  parameter_name: Schema.optionalKey(
    text({ min: 1, max: 64 }).annotate({
      description: "The placeholder's name, in a template with named placeholders."
    })
  )
}).annotate({ identifier: "TemplateParameter" })
export interface TemplateParameter extends Schema.Schema.Type<typeof TemplateParameter> {}

const ButtonIndex = Schema.Union([
  Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 9 })),
  Schema.String.check(Schema.isPattern(/^[0-9]$/u, { expected: "a number or a digit from 0 to 9" }))
])

/** What a button does, in lower case as the network writes it or in upper case as the template says it. */
const ButtonSubType = Schema.Literals([
  "quick_reply",
  "url",
  "copy_code",
  "flow",
  "catalog",
  "QUICK_REPLY",
  "URL",
  "COPY_CODE",
  "FLOW",
  "CATALOG"
])

const parameters = Schema.Array(TemplateParameter).check(Schema.isMaxLength(100))

/** The values for one part of a template (contract §12.3). */
export const TemplateValues = Schema.Union([
  Schema.Struct({ type: Schema.Literal("header"), parameters }).annotate({ title: "Header" }),
  Schema.Struct({ type: Schema.Literal("body"), parameters }).annotate({ title: "Body" }),
  Schema.Struct({
    type: Schema.Literal("button"),
    sub_type: ButtonSubType.annotate({ description: "What the button does." }),
    index: ButtonIndex.annotate({ description: "The position of the button, from 0." }),
    parameters
  }).annotate({ title: "Button" })
])
export type TemplateValues = typeof TemplateValues.Type

/** A template and the values for its placeholders, as a caller gives them. */
export const TemplateChoice = Schema.Struct({
  id: text({ min: 1, max: 200 }),
  components: Schema.Array(TemplateValues).check(Schema.isMaxLength(20)).annotate({
    description: "The values for each part that has placeholders, by position or by name."
  })
}).annotate({ identifier: "TemplateChoice", description: "A template, and the values for its placeholders." })
export interface TemplateChoice extends Schema.Schema.Type<typeof TemplateChoice> {}
