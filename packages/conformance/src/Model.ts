/**
 * Compares the service with a small model: after any sequence of commands by two organizations, both give equal results.
 *
 * The path of one command, `assign`:
 *
 * 1. `Commands.ts` generates its fields: `{ do: "assign", by: 0, id: { whose: "ours", index: 2 }, member: null, … }`.
 * 2. `Perform.ts` passes it to its handler in `Perform/Conversations.ts`.
 * 3. The handler finds the rows that it names (`Choices.ts`): the third conversation of ours in the model, and its ID in the service.
 * 4. `assign` in `Model/Conversations.ts` changes the model's lists (`State.ts`) in place, and returns the expected result
 *    (`Results.ts`).
 * 5. `agree` in `Agreement.ts` runs the operation of the service, and compares the results. An ID that the service has chosen is a
 *    name in the model (`Names.ts`), which the first result that shows it binds to the ID.
 * 6. `work` compares the lists of both organizations, so that a wrong effect of an earlier command is found.
 */
import { assert, it } from "@effect/vitest"
import { type ContactField, ContactFieldRows } from "@messaging-crm/core/ContactFields"
import type * as Crm from "@messaging-crm/core/Crm"
import { ContactFieldId, type OrganizationId } from "@messaging-crm/core/Ids"
import { ProviderBusy, ProviderOutcomeUnknown, ProviderRejected } from "@messaging-crm/core/MessagingProvider"
import { WorkQueue } from "@messaging-crm/core/WorkQueue"
import { Arbitrary, Cause, Effect, Exit, Layer } from "effect"
import * as Fixtures from "./Fixtures.ts"
import { type Command, sequence } from "./Model/Commands.ts"
import { needed } from "./Model/Differences.ts"
import { swapped } from "./Model/ModelScene.ts"
import { type Name, Names } from "./Model/Names.ts"
import { finishSends, perform } from "./Model/Perform.ts"
import type { Organization } from "./Model/State.ts"
import * as Provider from "./Provider.ts"

const makeField = Effect.fnUntraced(function*(organization_id: OrganizationId, type: ContactField["type"]) {
  const field: ContactField = {
    id: ContactFieldId.make(yield* Fixtures.uuid),
    key: type,
    name: type,
    type,
    options: type === "select" ? ["red", "blue"] : null,
    created_at: Fixtures.noon
  }
  yield* Fixtures.mustCommit(organization_id, ContactFieldRows.insert(field))
  return field
})

/** Creates an organization with channels of two types, two members, and three contact fields. */
const makeOrganization = Effect.fnUntraced(function*(newName: () => Name) {
  const { organization_id: id, owner } = yield* Fixtures.organizationWithOwner
  const channels = yield* Effect.forEach(
    ["phone_messaging", "phone_messaging", "photo_social"] as const,
    (type) => Fixtures.channel(id, type)
  )
  const members = [owner, yield* Fixtures.member(id, "member")]
  const fields = yield* Effect.forEach(["text", "number", "select"] as const, (type) => makeField(id, type))
  const state: Organization = {
    id,
    now: Fixtures.noon,
    newName,
    channels,
    members,
    fields,
    tags: [],
    contacts: [],
    conversations: [],
    messages: [],
    sends: [],
    revisions: new Map(),
    erased_messages: new Set(),
    webhooks: [],
    events: [],
    unexpanded: [],
    behavior: "accepts"
  }
  return state
})

/** Makes the provider respond to each send as the organization's last `setBehavior` command says. */
const applyBehavior = (
  organizations: ReadonlyArray<Organization>
): Effect.Effect<void, never, Provider.ScriptedProvider> =>
  Provider.ScriptedProvider.use((provider) =>
    provider.respond((message) => {
      const sender = organizations.find(({ channels }) => channels.some(({ id }) => id === message.channel.id))
      switch (sender?.behavior) {
        case "rejects":
          return Effect.fail(new ProviderRejected({ reason: "recipient_unreachable" }))
        case "is busy":
          return Effect.fail(new ProviderBusy({ reason: "provider_unavailable", retry_after_seconds: null }))
        case "is unresponsive":
          return Effect.fail(new ProviderOutcomeUnknown())
        default:
          return Provider.accept(message)
      }
    })
  )

/** A claim returns one item, so that results come in the order of the provider's calls. */
const oneByOne = Layer.effect(
  WorkQueue,
  WorkQueue.useSync((queue) => ({ ...queue, claim: (options) => queue.claim({ ...options, limit: 1 }) }))
)

export const modelTest = (storage: Layer.Layer<Crm.StoragePorts, unknown>, { runs }: Fixtures.Options) => {
  const crm = Provider.crm(oneByOne.pipe(Layer.provideMerge(storage)))

  it.layer(crm, { timeout: "5 minutes" })("the service", (it) => {
    const run = Effect.fnUntraced(function*(commands: ReadonlyArray<Command>) {
      const names = new Names()
      const [ours, theirs] = [yield* makeOrganization(names.give), yield* makeOrganization(names.give)]
      yield* applyBehavior([ours, theirs])
      const scene = { names, ours, theirs }
      for (const command of commands) yield* perform(command.by === 0 ? scene : swapped(scene), command)
      yield* finishSends(scene)
    })

    it.effect("returns the model's results for any sequence of commands", () =>
      Effect.gen(function*() {
        // Removing commands explains a failure better, and faster, than shrinking their values.
        const options = { runs, maxShrinks: 0 }
        const result = yield* Arbitrary.checkEffect(
          sequence,
          (commands) => Effect.as(Effect.sandbox(run(commands)), true),
          options
        )
        if (result._tag !== "Falsified") return assert.strictEqual(result._tag, "Passed")
        const commands = yield* needed(
          result.shrunkInput,
          (fewer) => Effect.map(Effect.exit(run(fewer)), Exit.isFailure)
        )
        const exit = yield* Effect.exit(run(commands))
        const failure = Exit.isFailure(exit) ? Cause.pretty(exit.cause) : "The failure does not occur again."
        assert.fail(
          [...commands.map((command) => JSON.stringify(command)), failure, `Replay: ${result.replay}`].join("\n")
        )
      }), 300_000)
  })
}
