/** The REST API, called inside this process on behalf of a caller whom the process has authenticated. It needs no API key. */
import { InProcessCaller } from "@messaging-crm/adapter-http"
import { PublicUrl } from "@messaging-crm/core/Media"
import { Context, Effect, type Scope } from "effect"
import { HttpEffect, HttpRouter, type HttpServerRequest } from "effect/http"
import { contextOfRequests } from "./RequestContext.ts"

export type Caller = NonNullable<typeof InProcessCaller["Service"]>

/** The function that the client calls instead of the global `fetch`. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>

/**
 * Makes a function that returns the `fetch` of a caller. Its requests go through the router with all its checks, and get the same
 * responses as over HTTP.
 */
export const make = Effect.fnUntraced(function*(public_url: string) {
  const router = yield* HttpRouter.HttpRouter
  const surrounding = Context.add(contextOfRequests(yield* Effect.context()), PublicUrl, public_url)
  const handle = HttpEffect.toWebHandlerWith<never, HttpServerRequest.HttpServerRequest | Scope.Scope>(surrounding)(
    router.asHttpEffect()
  )
  return (caller: Caller): Fetch => {
    const context = Context.make(InProcessCaller, caller)
    return (url, init) => handle(new Request(url, init), context)
  }
})
