/** A template as the Graph API lists it, and the same template in core. */
import type { Template, TemplateButton, TemplateComponent } from "@messaging-crm/core/Templates"
import { Schema } from "effect"
import { lenient } from "../GraphSchemas.ts"

const Button = Schema.Struct({
  type: lenient(Schema.String),
  text: lenient(Schema.String),
  url: lenient(Schema.String)
})

const Component = Schema.Struct({
  type: lenient(Schema.String),
  text: lenient(Schema.String),
  format: lenient(Schema.String),
  buttons: lenient(Schema.Array(Button))
})

/** Schema for a listed template. Name, language and status are required, because a template cannot be sent without them. */
export const ListedTemplate = Schema.Struct({
  id: Schema.String,
  name: Schema.String,
  language: Schema.String,
  status: Schema.String,
  category: lenient(Schema.String),
  parameter_format: lenient(Schema.String),
  components: lenient(Schema.Array(Component))
})

const buttonOf = ({ text, type = "UNKNOWN", url }: typeof Button.Type): TemplateButton => ({
  type,
  text: text ?? null,
  url: url ?? null
})

const componentOf = ({ buttons, format, text, type = "UNKNOWN" }: typeof Component.Type): TemplateComponent => ({
  type,
  text: text ?? null,
  format: format ?? null,
  buttons: buttons === undefined ? null : buttons.map(buttonOf)
})

/** Returns a template in core's form. Enumerations are open: unknown values are passed through. */
export const templateOf = (business_account_id: string) =>
(
  { category = "UNKNOWN", components = [], parameter_format = "POSITIONAL", ...listed }: typeof ListedTemplate.Type
): Template => ({
  ...listed,
  category,
  phone_messaging_business_account_id: business_account_id,
  parameter_format,
  components: components.map(componentOf)
})
