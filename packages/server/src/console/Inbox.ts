/** The inbox of a member: its page, its operations, and the stream of changes, each for a session that has been checked. */
import { type Console, makeConsole } from "@messaging-crm/console"
import { PublicUrl } from "@messaging-crm/core/Media"
import { Turns } from "@messaging-crm/core/Turns"
import { Data, Effect, Stream } from "effect"
import { HttpServerResponse } from "effect/http"
import * as InProcessApi from "../http/InProcessApi.ts"
import { EventFeed } from "./EventFeed.ts"
import type { OpenSession } from "./Sessions.ts"
import { path, type Settings } from "./Settings.ts"

/** How many pages can be open: in all, and of one member. A further one waits until another is closed. */
const [pages_max, member_pages_max] = [1024, 8]

class StreamFailed extends Data.TaggedError("StreamFailed")<{ readonly cause: unknown }> {}

/** Calls without a person are a programming error. */
const callNobody = () => Promise.reject(new Error("A call has no member."))

const streamOf = ({ body }: Response) =>
  body === null
    ? Stream.empty
    : Stream.fromReadableStream({ evaluate: () => body, onError: (cause) => new StreamFailed({ cause }) })

export const make = Effect.fnUntraced(function*({ organization_id, origin }: Settings) {
  const public_url = (yield* PublicUrl) || origin
  // Without the path of the public URL, which a proxy removes. The page can load media from this origin.
  const baseUrl = new URL("/v1", public_url).href
  const fetchAs = yield* InProcessApi.make(public_url)
  const inbox: Console = makeConsole({
    apiKey: "none",
    baseUrl,
    path,
    hosts: [new URL(origin).hostname],
    fetch: callNobody,
    pagesMax: pages_max
  })
  const run = Effect.runForkWith(yield* Effect.context())
  const feed = new EventFeed({
    baseUrl,
    pages: inbox,
    onFailure: (cause) => void run(Effect.logError("The events of the console's pages failed", cause)),
    fetch: fetchAs({ actor: { organization_id, member_id: null, scopes: ["webhooks:manage"] }, default_country: null })
  })
  const turns = new Turns<string>({ places: pages_max, share: member_pages_max })
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      feed.close()
      inbox.close()
    })
  )

  /** Responds to a request of a session, which has been checked. */
  const handle = ({ actor, default_country, member, session }: OpenSession, request: Request) =>
    Effect.promise(() =>
      inbox.handle(request, {
        name: member.name,
        member_id: member.id,
        token: session.token,
        fetch: fetchAs({ actor, default_country })
      })
    )

  /** Responds with a file of the page, which needs no session. */
  const file = (request: Request) => Effect.promise(() => inbox.handle(request))

  /** Responds with the stream of changes, which ends with `end`. */
  const stream = (open: OpenSession, request: Request, end: Effect.Effect<void>) => {
    const changes = Stream.unwrap(Effect.gen(function*() {
      yield* turns.acquire(open.member.id)
      yield* Effect.promise(() => feed.start())
      return streamOf(yield* handle(open, request))
    }))
    return HttpServerResponse.stream(Stream.merge(changes, Stream.fromEffectDrain(end), { haltStrategy: "either" }), {
      contentType: "text/event-stream",
      headers: { "cache-control": "no-store", "x-accel-buffering": "no", "x-content-type-options": "nosniff" }
    })
  }

  return { file, handle, stream }
})

export type Inbox = Effect.Success<ReturnType<typeof make>>
