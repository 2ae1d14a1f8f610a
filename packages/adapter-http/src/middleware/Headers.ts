import { Effect } from "effect"
import { HttpEffect, HttpServerResponse } from "effect/http"

/** Puts headers on whatever the answer to the current request will be, refusals and defects included. */
export const answerWith = (headers: Readonly<Record<string, string>>) =>
  HttpEffect.appendPreResponseHandler((_, response) => Effect.succeed(HttpServerResponse.setHeaders(response, headers)))
