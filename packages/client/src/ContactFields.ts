import type { ContactField } from "./Contract.ts"
import type { Pages } from "./Pages.ts"
import type { RequestOptions, Transport } from "./Transport.ts"

/** `/contact-fields`: list. */
export const contactFields = ({ list }: Transport) => ({
  /** Lists the contact fields. Their IDs are the keys of `custom_values`. */
  list: (options?: RequestOptions): Pages<ContactField> => list("GET /contact-fields", {}, options)
})
