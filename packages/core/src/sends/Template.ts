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
    description: "Upper case: `HEADER`, `BODY`, `FOOTER`, or `BUTTONS`. New values can appear."
  }),
  text: Schema.NullOr(Schema.String).annotate({
    description: "With placeholders, numbered as in `{{1}}` or named as in `{{first_name}}`."
  }),
  format: Schema.NullOr(Schema.String).annotate({
    description:
      "The format of a header: `TEXT`, `IMAGE`, `VIDEO`, `DOCUMENT`, or another value. New values can appear."
  }),
  buttons: Schema.NullOr(Schema.Array(TemplateButton))
}).annotate({ identifier: "TemplateComponent" })
export interface TemplateComponent extends Schema.Schema.Type<typeof TemplateComponent> {}

/** `category`, `status` and `parameter_format` are open enumerations, passed through from the provider. */
export const Template = Schema.Struct({
  id: Schema.String.annotate({ description: "Opaque; not a UUID." }),
  name: Schema.String,
  language: Schema.String,
  category: Schema.String.annotate({
    description: "Set by the provider: `MARKETING`, `UTILITY`, or `AUTHENTICATION`. New values can appear."
  }),
  status: Schema.String.annotate({
    description:
      "Set by the provider: `APPROVED`, `PENDING`, `REJECTED`, `PAUSED`, `DISABLED`, or another value. New values can appear. Only an `APPROVED` template can be sent."
  }),
  phone_messaging_business_account_id: Schema.String.annotate({
    description: "The template can be sent on the channels of this account."
  }),
  parameter_format: Schema.String.annotate({
    description: "Set by the provider: `POSITIONAL` or `NAMED`. New values can appear."
  }),
  components: Schema.Array(TemplateComponent)
}).annotate({
  identifier: "Template",
  description: "A message template of the messaging provider, which approves or rejects it."
})
export interface Template extends Schema.Schema.Type<typeof Template> {}

const value = text({ min: limits.template_parameter_chars_min, max: limits.template_parameter_chars_max })

const parameter_name = Schema.optionalKey(
  text({ min: 1, max: 64 }).annotate({ description: "The placeholder's name, in a template with named placeholders." })
)

const link_pattern = /^https:\/\/[^\s/\\?#]+(?:[/?#][^\s\\]*)?$/u

/** The network loads the file from the link. The service does not. */
const file = {
  link: text({ min: 1, max: limits.url_chars_max }).check(
    Schema.isPattern(link_pattern, { expected: "an https link" })
  ).annotate({ description: "An https link from which the network loads the file." })
}

const currency_pattern = /^[A-Z]{3}$/u

/** A value for one placeholder, for the header's file, or for what a quick reply returns. */
export const TemplateParameter = Schema.Union([
  Schema.Struct({ type: Schema.Literal("text"), text: value, parameter_name })
    .annotate({ identifier: "TextParameter" }),
  Schema.Struct({
    type: Schema.Literal("currency"),
    currency: Schema.Struct({
      fallback_value: value.annotate({ description: "The text that replaces the placeholder." }),
      code: Schema.String.check(
        Schema.isPattern(currency_pattern, { expected: "a currency such as EUR" })
      ).annotate({ description: "An ISO 4217 code." }),
      amount_1000: Schema.Int.annotate({ description: "The amount multiplied by 1,000." })
    }),
    parameter_name
  }).annotate({ identifier: "CurrencyParameter" }),
  Schema.Struct({
    type: Schema.Literal("date_time"),
    date_time: Schema.Struct({
      fallback_value: value.annotate({ description: "The text that replaces the placeholder." })
    }),
    parameter_name
  }).annotate({ identifier: "DateTimeParameter" }),
  Schema.Struct({ type: Schema.Literal("image"), image: Schema.Struct(file) }).annotate({
    identifier: "ImageParameter"
  }),
  Schema.Struct({ type: Schema.Literal("video"), video: Schema.Struct(file) }).annotate({
    identifier: "VideoParameter"
  }),
  Schema.Struct({
    type: Schema.Literal("document"),
    document: Schema.Struct({
      ...file,
      filename: Schema.optionalKey(
        text({ min: 1, max: limits.name_chars_max }).annotate({ description: "The name that the recipient sees." })
      )
    })
  }).annotate({ identifier: "DocumentParameter" }),
  Schema.Struct({
    type: Schema.Literal("payload"),
    payload: value.annotate({
      description: "If the recipient chooses the quick reply, `details.choice` of their message contains this payload."
    })
  }).annotate({ identifier: "PayloadParameter" })
]).annotate({ identifier: "TemplateParameter" })
export type TemplateParameter = typeof TemplateParameter.Type

const ButtonIndex = Schema.Union([
  Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 9 })),
  Schema.String.check(Schema.isPattern(/^[0-9]$/u, { expected: "a number or a digit from 0 to 9" }))
])

/** Schema for the kind of a button, in lower case as in sends or in upper case as in templates. */
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

/** Returns whether sends name this kind of a template's button. */
export const isButtonSubType: (type: string) => boolean = Schema.is(ButtonSubType)

const parameters = Schema.Array(TemplateParameter).check(Schema.isMaxLength(100))

/** The values for one part of a template (contract §12.3). */
export const TemplateValues = Schema.Union([
  Schema.Struct({ type: Schema.Literal("header"), parameters }).annotate({ identifier: "HeaderValues" }),
  Schema.Struct({ type: Schema.Literal("body"), parameters }).annotate({ identifier: "BodyValues" }),
  Schema.Struct({
    type: Schema.Literal("button"),
    sub_type: ButtonSubType.annotate({ description: "The kind of the button." }),
    index: ButtonIndex.annotate({ description: "The position of the button, from 0." }),
    parameters
  }).annotate({ identifier: "ButtonValues" })
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
