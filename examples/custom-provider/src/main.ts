import { NodeRuntime } from "@effect/platform-node"
import * as Memory from "@messaging-crm/adapter-memory"
import * as WebhookTransport from "@messaging-crm/adapter-memory/WebhookTransport"
import { CurrentActor } from "@messaging-crm/core/Actor"
import { Channels, ConnectChannel } from "@messaging-crm/core/Channels"
import * as Crm from "@messaging-crm/core/Crm"
import { CreateOrganization, Organizations } from "@messaging-crm/core/Organizations"
import { Phone } from "@messaging-crm/core/Phones"
import { Sends, StartConversation } from "@messaging-crm/core/Sends"
import { Worker } from "@messaging-crm/core/Worker"
import { Console, Effect, Layer, Schedule } from "effect"
import * as Network from "./Network.ts"

const crm = Worker.layerLoop.pipe(
  Layer.provideMerge(Crm.layer),
  Layer.provide([Memory.layer, WebhookTransport.layer]),
  Layer.provideMerge(Network.layer)
)

const greet = Effect.gen(function*() {
  const channel = yield* Channels.use((channels) =>
    channels.connect(ConnectChannel.make({
      type: "phone_messaging",
      name: "Support",
      address: "+493012345678",
      phone_messaging_business_account_id: "acme"
    }))
  )
  const { id } = yield* Sends.use((sends) =>
    sends.start(StartConversation.make({
      channel_id: channel.id,
      phone: Phone.make("+4915112345600"),
      template: { id: "greeting", components: [{ type: "body", parameters: [{ type: "text", text: "Kim" }] }] }
    }))
  )
  return yield* Sends.use((sends) => sends.get(id)).pipe(
    Effect.repeat({ until: ({ status }) => status === "sent", schedule: Schedule.spaced("20 millis") }),
    Effect.timeout("5 seconds")
  )
})

const program = Effect.gen(function*() {
  const { organization, owner } = yield* Organizations.use((organizations) =>
    organizations.create(CreateOrganization.make({ name: "Acme", owner_name: "Ada", owner_email: "ada@acme.example" }))
  )
  const send = yield* greet.pipe(
    Effect.provideService(CurrentActor, { organization_id: organization.id, member_id: owner.id })
  )
  yield* Console.log("The send:", send)
  yield* Console.log("Accepted by Courier:", yield* Network.Network.use(({ accepted }) => accepted))
})

NodeRuntime.runMain(Effect.provide(program, crm))
