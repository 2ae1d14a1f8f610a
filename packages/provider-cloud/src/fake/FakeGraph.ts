/**
 * A fake Graph API with state, over real HTTP: it accepts messages, lists templates,
 * returns files and posts signed callbacks.
 *
 * Like the Graph API it accepts a repeated message as a new one, discards a
 * message with a user ID in `to`, and rejects empty texts and unknown templates.
 * Every response has a body.
 */
import { Context, type Duration, Effect, Layer, type Redacted, Ref } from "effect"
import { HttpRouter, HttpServer } from "effect/http"
import { path as ingressPath } from "../Ingress.ts"
import type { Behavior } from "./Behaviors.ts"
import type { CallbackEntry } from "./CallbackBodies.ts"
import * as CallbackSender from "./CallbackSender.ts"
import * as Files from "./Files.ts"
import * as Messages from "./Messages.ts"
import * as Objects from "./Objects.ts"
import * as State from "./State.ts"
import * as Templates from "./Templates.ts"

export interface Options {
  readonly token: Redacted.Redacted
  readonly app_secret: Redacted.Redacted
  /** Where it calls back, each time at the next; without any, `/ingress/graph` on the same port. */
  readonly callback_urls?: ReadonlyArray<string>
}

/** The controls of the fake Graph API. */
export class FakeGraph extends Context.Service<FakeGraph, {
  readonly url: string
  readonly accepted: Effect.Effect<ReadonlyArray<State.AcceptedMessage>>
  readonly discarded: Effect.Effect<ReadonlyArray<State.AcceptedMessage>>
  /** Sets the behavior for all later messages to a recipient: a number as digits only, or another ID. */
  readonly script: (recipient: string, behavior: Behavior) => Effect.Effect<void>
  /** Sets the behavior of the next calls, for any recipient. */
  readonly scriptNext: (...behaviors: ReadonlyArray<Behavior>) => Effect.Effect<void>
  /** Adds entries to the callbacks that are still to be posted. */
  readonly enqueue: (...entries: ReadonlyArray<CallbackEntry>) => Effect.Effect<void>
  /** The callbacks that are still to be posted. */
  readonly waiting: Effect.Effect<ReadonlyArray<CallbackEntry>>
  /** Removes the callbacks that are still to be posted. */
  readonly dropWaiting: Effect.Effect<void>
  /** Posts the waiting callbacks, and returns the statuses. Those without a 200 stay. */
  readonly post: (posting?: CallbackSender.Posting) => Effect.Effect<ReadonlyArray<number>>
  /** Posts any bytes with any signature, by default the right one. */
  readonly postRaw: (body: Uint8Array<ArrayBuffer>, signature?: string) => Effect.Effect<number>
  readonly setTemplates: (account: string, templates: ReadonlyArray<State.FakeTemplate>) => Effect.Effect<void>
  /** Sets by how much its clock differs from that of the service. */
  readonly setClockDifference: (difference: Duration.Duration) => Effect.Effect<void>
  /** Makes a page of every template list fail, counted from 1. */
  readonly breakPage: (page: number | null) => Effect.Effect<void>
  /** Stores a file, and returns its ID. */
  readonly addFile: (bytes: Uint8Array, mime_type: string) => Effect.Effect<string>
  /** Leaves requests for the bytes of files without a response, until it is set otherwise. */
  readonly holdFiles: (are_held: boolean) => Effect.Effect<void>
  /** Makes the next links expire before they can be opened. */
  readonly expireNextLinks: (count: number) => Effect.Effect<void>
}>()("@messaging-crm/provider-cloud/fake/FakeGraph") {}

const make = Effect.fnUntraced(function*({ app_secret, callback_urls, token }: Options) {
  const state = yield* State.make
  const router = yield* HttpRouter.HttpRouter
  const url = yield* HttpServer.addressFormattedWith(Effect.succeed)
  const { post, postRaw } = yield* CallbackSender.make(
    state,
    callback_urls ?? [`${url}${ingressPath}`],
    app_secret
  )
  const authorized = State.authorized(token)
  const set = (change: (current: State.State) => Partial<State.State>) => State.set(state, change)
  const see = <A>(look: (current: State.State) => A) => Effect.map(Ref.get(state), look)

  yield* router.add("POST", "/:version/:id/messages", authorized(Messages.route(state)))
  yield* router.add("GET", "/:version/:id/message_templates", authorized(Templates.route(state)))
  yield* router.add("GET", "/:version/:account/message_templates/:id", authorized(Templates.oneRoute(state)))
  yield* router.add("GET", "/:version/:id", authorized(Objects.route(state, url)))
  yield* router.add("DELETE", "/:version/:id", authorized(Files.removeRoute(state)))
  yield* router.add("POST", "/:version/:id/media", authorized(Files.uploadRoute(state)))
  yield* router.add("GET", "/:version/:id/whatsapp_business_profile", authorized(Objects.profileRoute(state)))
  yield* router.add("POST", "/:version/:id/whatsapp_business_profile", authorized(Objects.setProfileRoute(state)))
  yield* router.add("GET", "/:version/:id/phone_numbers", authorized(Objects.numbersRoute))
  yield* router.add("GET", "/lookaside/:id/:state", authorized(Files.fileRoute(state)))
  yield* router.add("*", "/*", authorized(Objects.unknown))

  return FakeGraph.of({
    url,
    accepted: see(({ accepted }) => accepted),
    discarded: see(({ discarded }) => discarded),
    script: (recipient, behavior) => set(({ scripts }) => ({ scripts: new Map(scripts).set(recipient, behavior) })),
    scriptNext: (...behaviors) => set(({ next }) => ({ next: [...next, ...behaviors] })),
    enqueue: (...entries) => State.enqueue(state, ...entries),
    waiting: see(({ waiting }) => waiting),
    post,
    postRaw,
    dropWaiting: set(() => ({ waiting: [] })),
    setClockDifference: (clock_difference) => set(() => ({ clock_difference })),
    setTemplates: (account, all) => set(({ templates }) => ({ templates: new Map(templates).set(account, all) })),
    breakPage: (broken_page) => set(() => ({ broken_page })),
    addFile: (bytes, mime_type) => Files.add(state, bytes, mime_type),
    holdFiles: (files_held) => set(() => ({ files_held })),
    expireNextLinks: (expired_links) => set(() => ({ expired_links }))
  })
})

/** Layer for the network's routes and its controls. */
export const layer = (options: Options) => Layer.effect(FakeGraph, make(options))
