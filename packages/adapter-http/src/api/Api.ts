import { HttpApi, OpenApi } from "effect/http-api"
import { ChannelsGroup } from "./Channels.ts"
import { ContactFieldsGroup } from "./ContactFields.ts"
import { ContactsGroup } from "./Contacts.ts"
import { ConversationsGroup } from "./Conversations.ts"
import { completeFor } from "./Document.ts"
import { overview } from "./Document/Overview.ts"
import { events } from "./Document/Webhooks.ts"
import { EventsGroup } from "./Events.ts"
import { MembersGroup } from "./Members.ts"
import { MessagesGroup } from "./Messages.ts"
import * as Pipeline from "./Pipeline.ts"
import { SendsGroup } from "./Sends.ts"
import { TagsGroup } from "./Tags.ts"
import { TemplatesGroup } from "./Templates.ts"
import { WebhookDeliveriesGroup } from "./WebhookDeliveries.ts"
import { WebhooksGroup } from "./Webhooks.ts"

const contract = HttpApi.make("messaging-crm")
  .add(ContactsGroup)
  .add(ContactFieldsGroup)
  .add(ConversationsGroup)
  .add(MessagesGroup)
  .add(SendsGroup)
  .add(ChannelsGroup)
  .add(MembersGroup)
  .add(TagsGroup)
  .add(TemplatesGroup)
  .add(EventsGroup)
  .add(WebhooksGroup)
  .add(WebhookDeliveriesGroup)
  .prefix("/v1")
  // In the reverse order of `Pipeline.ts`, because the middleware that is added last runs first.
  .middleware(Pipeline.InvalidInput)
  .middleware(Pipeline.IdempotentWrites)
  .middleware(Pipeline.JsonBody)
  .middleware(Pipeline.Authentication)
  .annotate(HttpApi.AdditionalSchemas, events)
  .annotate(HttpApi.PayloadParseOptions, { onExcessProperty: "error", reportInput: true })
  .annotate(HttpApi.QueryParseOptions, { onExcessProperty: "error", reportInput: true })
  .annotateMerge(OpenApi.annotations({
    title: "Messaging CRM REST API",
    version: "1.0.0",
    summary: "A REST API for one organization's customer messaging.",
    description: overview,
    license: { name: "MIT", identifier: "MIT" },
    servers: [{ url: "/v1", description: "This service." }]
  }))

/** The API: every endpoint, and the middleware before each of them. */
export class Api extends contract.annotate(OpenApi.Transform, completeFor(contract)) {}
