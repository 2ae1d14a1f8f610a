/** The codecs of core's resources, which operations return. Inputs are not among them: their checks always run. */
import { describe } from "@effect/vitest"
import * as Codecs from "@messaging-crm/conformance/Codecs"
import { ApiKey } from "@messaging-crm/core/ApiKeys"
import { Channel } from "@messaging-crm/core/Channels"
import { ContactField } from "@messaging-crm/core/ContactFields"
import { Contact } from "@messaging-crm/core/Contacts"
import { Conversation } from "@messaging-crm/core/Conversations"
import { Event } from "@messaging-crm/core/Events"
import { Member } from "@messaging-crm/core/Members"
import { Message } from "@messaging-crm/core/Messages"
import { Send } from "@messaging-crm/core/Sends"
import { Tag } from "@messaging-crm/core/Tags"
import { Template } from "@messaging-crm/core/Templates"
import { WebhookDelivery } from "@messaging-crm/core/WebhookDeliveries"
import { Webhook } from "@messaging-crm/core/Webhooks"

const resources = {
  ApiKey,
  Channel,
  Contact,
  ContactField,
  Conversation,
  Event,
  Member,
  Message,
  Send,
  Tag,
  Template,
  Webhook,
  WebhookDelivery
}

describe("decode as their schemas do", () => {
  for (const [name, schema] of Object.entries(resources)) Codecs.decoding(name, schema)
})

describe("encode as their schemas do", () => {
  for (const [name, schema] of Object.entries(resources)) Codecs.encoding(name, schema)
})
