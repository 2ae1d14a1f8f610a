/**
 * A Graph API with a memory, over real HTTP: it takes messages, lists templates,
 * hands out files and calls back, signed.
 *
 * Like the real networks it takes whatever it is given as often as it is given,
 * and it throws away what is addressed to a user id as if that were a number.
 */
import { Context, Effect, Layer, type Redacted, Ref } from "effect"
import { HttpRouter, HttpServer } from "effect/http"
import { path as ingressPath } from "../Ingress.ts"
import type { Behaviour } from "./Behaviours.ts"
import type { Part } from "./Bodies.ts"
import * as CallBack from "./CallBack.ts"
import * as Files from "./Files.ts"
import * as Messages from "./Messages.ts"
import * as State from "./State.ts"
import * as Templates from "./Templates.ts"

export interface Options {
  readonly token: Redacted.Redacted
  readonly app_secret: Redacted.Redacted
  /** Where it calls back, each time at the next; without any, `/ingress/graph` on the same port. */
  readonly callback_urls?: ReadonlyArray<string>
}

/** The network, as a test or an operator sees it. */
export class FakeGraph extends Context.Service<FakeGraph, {
  readonly url: string
  readonly taken: Effect.Effect<ReadonlyArray<State.TakenMessage>>
  readonly swallowed: Effect.Effect<ReadonlyArray<State.TakenMessage>>
  /** Sets what happens to all to a recipient, written as the network has it, from now on. */
  readonly script: (recipient: string, behaviour: Behaviour) => Effect.Effect<void>
  /** Sets what happens in the next calls, whoever they are for. */
  readonly scriptNext: (...behaviours: ReadonlyArray<Behaviour>) => Effect.Effect<void>
  /** Puts something among what waits to be told. */
  readonly tell: (...parts: ReadonlyArray<Part>) => Effect.Effect<void>
  /** What waits to be told. */
  readonly waiting: Effect.Effect<ReadonlyArray<Part>>
  /** Calls back with what waits, and returns what was answered. What is not answered with 200 waits on. */
  readonly post: (posting?: CallBack.Posting) => Effect.Effect<ReadonlyArray<number>>
  /** Posts any bytes, with any signature; without one, the right one. */
  readonly postRaw: (body: Uint8Array<ArrayBuffer>, signature?: string) => Effect.Effect<number>
  readonly setTemplates: (account: string, templates: ReadonlyArray<State.FakeTemplate>) => Effect.Effect<void>
  /** Makes a page of every catalogue fail, counted from 1. */
  readonly breakPage: (page: number | null) => Effect.Effect<void>
  /** Makes a page of every catalogue never come. */
  readonly holdPage: (page: number | null) => Effect.Effect<void>
  /** Keeps a file, and returns its id. */
  readonly addFile: (bytes: Uint8Array, mime_type: string) => Effect.Effect<string>
  /** Makes the next links expire before they are opened. */
  readonly expireNextLinks: (count: number) => Effect.Effect<void>
}>()("@messaging-crm/provider-cloud/fake/FakeGraph") {}

const make = Effect.fnUntraced(function*({ app_secret, callback_urls, token }: Options) {
  const state = yield* State.make
  const router = yield* HttpRouter.HttpRouter
  const url = yield* HttpServer.addressFormattedWith(Effect.succeed)
  const { post, postRaw } = CallBack.make(state, callback_urls ?? [`${url}${ingressPath}`], app_secret)
  const authorized = State.authorized(token)
  const set = (change: (memory: State.Memory) => Partial<State.Memory>) => State.set(state, change)
  const see = <A>(look: (memory: State.Memory) => A) => Effect.map(Ref.get(state), look)

  yield* router.add("POST", "/:version/:id/messages", authorized(Messages.route(state)))
  yield* router.add("GET", "/:version/:id/message_templates", authorized(Templates.route(state)))
  yield* router.add("GET", "/:version/:id", authorized(Files.linkRoute(state, url)))
  yield* router.add("GET", "/lookaside/:id/open", authorized(Files.fileRoute(state)))

  return FakeGraph.of({
    url,
    taken: see(({ taken }) => taken),
    swallowed: see(({ swallowed }) => swallowed),
    script: (recipient, behaviour) => set(({ scripts }) => ({ scripts: new Map(scripts).set(recipient, behaviour) })),
    scriptNext: (...behaviours) => set(({ next }) => ({ next: [...next, ...behaviours] })),
    tell: (...parts) => State.tell(state, ...parts),
    waiting: see(({ waiting }) => waiting),
    post,
    postRaw,
    setTemplates: (account, all) => set(({ templates }) => ({ templates: new Map(templates).set(account, all) })),
    breakPage: (broken_page) => set(() => ({ broken_page })),
    holdPage: (slow_page) => set(() => ({ slow_page })),
    addFile: (bytes, mime_type) => Files.add(state, bytes, mime_type),
    expireNextLinks: (expired_links) => set(() => ({ expired_links }))
  })
})

/** Layer for the network's routes, and for the network as a test sees it. */
export const layer = (options: Options) => Layer.effect(FakeGraph, make(options))
