import type { Template, TemplateComponent } from "@messaging-crm/core/Templates"

const component = (type: string, text: string | null, more: Partial<TemplateComponent> = {}): TemplateComponent => ({
  type,
  text,
  format: null,
  buttons: null,
  ...more
})

const orderReady = [
  component("HEADER", "Order {{1}}", { format: "TEXT" }),
  component("BODY", "Hello {{1}}, your order {{2}} is ready."),
  component("FOOTER", "Thank you for your order."),
  component("BUTTONS", null, {
    buttons: [{ type: "URL", text: "Track it", url: "https://shop.example/orders/{{1}}" }]
  })
]

const appointmentReminder = [
  component("BODY", "Hello {{first_name}}, we see you on {{day}} at {{time}}.")
]

const receipt = [
  component("HEADER", null, { format: "IMAGE" }),
  component("BODY", "You paid {{1}} on {{2}}."),
  component("BUTTONS", null, { buttons: [{ type: "QUICK_REPLY", text: "Not me", url: null }] })
]

/** Returns the templates of a business account: the same for every account, except for their IDs. */
export const templatesOf = (account: string): ReadonlyArray<Template> => {
  const template = (name: string, fields: Partial<Template>): Template => ({
    id: `${account}.${name}`,
    name,
    language: "en",
    category: "UTILITY",
    status: "APPROVED",
    phone_messaging_business_account_id: account,
    parameter_format: "POSITIONAL",
    components: [],
    ...fields
  })
  return [
    template("order_ready", { components: orderReady }),
    template("appointment_reminder", { parameter_format: "NAMED", components: appointmentReminder }),
    template("spring_sale", {
      category: "MARKETING",
      components: [component("BODY", "Spring is here: {{1}} off everything until {{2}}.")]
    }),
    template("invoice_ready", { status: "PENDING", components: [component("BODY", "Your invoice {{1}} is ready.")] }),
    template("win_back", {
      category: "MARKETING",
      status: "PAUSED",
      components: [component("BODY", "We miss you, {{1}}.")]
    }),
    template("receipt", { components: receipt })
  ]
}
