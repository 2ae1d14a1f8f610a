import type { Template } from "./Contract.ts"
import type { Pages } from "./Pages.ts"
import type { RequestOptions, Transport } from "./Transport.ts"

/** `/templates`: list. */
export const templates = ({ list }: Transport) => ({
  /** Lists the templates as the messaging provider has them now; `provider_unavailable` when it cannot be asked. */
  list: (options?: RequestOptions): Pages<Template> => list("GET /templates", {}, options)
})
