/** The settings of the console, which `serve --console` requires. */
import { Effect } from "effect"
import { readRequired, readWithDefault, settings } from "../settings/Config.ts"

/** The path of the console. Everything below it belongs to the console. */
export const path = "/console"

/** The style of all pages, also of those without a session. */
export const stylesheet = `${path}/page/style.css`

export const login = `${path}/login`

/** The address that requests the person's credentials even if the provider knows the person. */
export const login_again = `${login}?again=true`

export const read = Effect.gen(function*() {
  const origin = yield* readRequired(settings.console_url)
  return {
    origin,
    organization_id: yield* readRequired(settings.console_organization_id),
    keys: yield* readRequired(settings.console_session_key),
    session_hours: yield* readWithDefault(settings.console_session_hours),
    provider: {
      issuer: yield* readRequired(settings.oidc_issuer),
      client_id: yield* readRequired(settings.oidc_client_id),
      client_secret: yield* readRequired(settings.oidc_client_secret),
      redirect_uri: `${origin}${path}/callback`,
      post_logout_redirect_uri: `${origin}${path}/logged-out`
    }
  }
})

export type Settings = Effect.Success<typeof read>
