import { layer } from "@messaging-crm/adapter-http/WebhookTransport"
import * as Transport from "@messaging-crm/core/conformance/WebhookTransport"
import { receive } from "./Receiver.ts"

Transport.suite("undici", {
  layer: (resolve) => layer({ deadline: "400 millis", resolve }),
  receive
})
