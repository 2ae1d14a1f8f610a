import { Context, Duration, Layer } from "effect"

/** The addresses of the networks, and time limits. */
export interface CloudSettings {
  /** The Graph API for WhatsApp, Messenger, and Instagram accounts that are connected to a page. */
  readonly base_url: string
  /** The Graph API for Instagram accounts with a login of their own. */
  readonly photo_social_base_url: string
  readonly version: string
  /** The time limit for sending a message. Must be shorter than core's `attempt_time_max`. */
  readonly deliver_time_max: Duration.Duration
  /** The time limit for all pages of a catalog together. */
  readonly templates_time_max: Duration.Duration
  /** The time limit for loading a file, including requests for its link. */
  readonly file_time_max: Duration.Duration
}

/** The default settings. */
export const cloudSettings: CloudSettings = {
  base_url: "https://graph.facebook.com",
  photo_social_base_url: "https://graph.instagram.com",
  version: "v25.0",
  deliver_time_max: Duration.seconds(15),
  templates_time_max: Duration.seconds(15),
  file_time_max: Duration.seconds(30)
}

export const CloudSettings = Context.Reference<CloudSettings>("@messaging-crm/provider-cloud/CloudSettings", {
  defaultValue: () => cloudSettings
})

/** Layer that overrides some of the default settings. */
export const layer = (given: Partial<CloudSettings>): Layer.Layer<never> =>
  Layer.succeed(CloudSettings, { ...cloudSettings, ...given })
