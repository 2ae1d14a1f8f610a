/** Authentication templates: the network requires their one-time code in the body and in the button. */
import { assert } from "@effect/vitest"
import { ChannelId } from "@messaging-crm/core/Ids"
import { Phone } from "@messaging-crm/core/Phones"
import { Sends, StartConversation } from "@messaging-crm/core/Sends"
import type { TemplateChoice } from "@messaging-crm/core/Templates"
import { Worker } from "@messaging-crm/core/Worker"
import { Effect } from "effect"
import { FakeGraph } from "../src/fake/FakeGraph.ts"
import { Acme, messages, testAtAcme } from "./Acme.ts"

const url = "https://www.whatsapp.com/otp/code/?otp_type=COPY_CODE&cta_display_name=Copy&code=otp{{1}}"

/** The button as the network lists it, by the kind with which it was created or by what it became. */
const buttons = {
  "copies the code": { type: "OTP", otp_type: "COPY_CODE", text: "Copy" },
  "fills the code in": { type: "OTP", otp_type: "ONE_TAP", text: "Fill in", autofill_text: "Fill in" },
  "passes the code on": { type: "OTP", otp_type: "ZERO_TAP", text: "Copy" },
  "is listed as a link": { type: "URL", text: "Copy", url }
}

const login = (button: object) => ({
  id: "login",
  name: "login",
  language: "en",
  category: "AUTHENTICATION",
  status: "APPROVED",
  components: [{ type: "BODY", text: "*{{1}}* is your code." }, { type: "BUTTONS", buttons: [button] }]
})

const body = { type: "body", parameters: [{ type: "text", text: "123456" }] } as const
const button = { type: "button", sub_type: "url", index: 0, parameters: body.parameters } as const

for (const [name, listed] of Object.entries(buttons)) {
  testAtAcme(`sends the code of an authentication template whose button ${name}`, () =>
    Effect.gen(function*() {
      const fake = yield* FakeGraph
      const { phone_messaging } = yield* Acme
      yield* fake.setTemplates("acme", [login(listed)])
      const start = (components: TemplateChoice["components"]) =>
        Sends.use((sends) =>
          sends.start(StartConversation.make({
            channel_id: ChannelId.make(phone_messaging),
            phone: Phone.make("+4915112345678"),
            template: { id: "login", components }
          }))
        )
      const { id } = yield* start([body, button])
      yield* Worker.use(({ runOnce }) => runOnce)
      assert.strictEqual((yield* Sends.use(({ get }) => get(id))).status, "sent")
      assert.strictEqual((yield* messages)[0]?.text, "*123456* is your code.")
      const [accepted] = yield* fake.accepted
      assert.deepNestedInclude(accepted?.body as object, {
        "template.components": [body, { ...button, index: "0" }]
      })
      // The network would reject these, so they are not accepted.
      for (const components of [[body], [body, { ...button, parameters: [{ type: "text", text: "9" } as const] }]]) {
        assert.strictEqual((yield* Effect.flip(start(components)))._tag, "TemplateValuesMismatch")
      }
    }))
}
