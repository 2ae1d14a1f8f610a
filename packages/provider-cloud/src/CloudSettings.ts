import { Context, Duration, Layer } from "effect"

/** Where the networks are, and for how long they are waited for. */
export interface CloudSettings {
  /** The Graph API: phone messaging, pages, and photo accounts that are reached through a page. */
  readonly base_url: string
  /** The Graph API of photo accounts that logged in themselves. */
  readonly photo_social_base_url: string
  readonly version: string
  /** How long a send waits for its answer. Shorter than core's `attempt_time_max`, which would cut it off. */
  readonly deliver_time_max: Duration.Duration
  /** How long the pages of a catalogue may take together. */
  readonly templates_time_max: Duration.Duration
  /** How long a file may take, with every link that has to be asked for. */
  readonly file_time_max: Duration.Duration
}

/** The settings that hold unless others are given. */
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

/** Layer for settings of one's own; what is not given stays as it is. */
export const layer = (given: Partial<CloudSettings>): Layer.Layer<never> =>
  Layer.succeed(CloudSettings, { ...cloudSettings, ...given })
