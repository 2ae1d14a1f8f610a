import type { Template } from "./Contract.ts"
import type { Pages } from "./Pages.ts"
import type { RequestOptions, Transport } from "./Transport.ts"

/** `/templates`: list. */
export const templates = ({ list }: Transport) => ({
  /** Lists the templates, read live from the messaging provider. Fails with `provider_unavailable` while it is down. */
  list: (options?: RequestOptions): Pages<Template> => list("GET /templates", {}, options)
})
