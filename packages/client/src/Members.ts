import type { Member } from "./Contract.ts"
import type { Pages } from "./Pages.ts"
import type { RequestOptions, Transport } from "./Transport.ts"

/** `/members`: list. */
export const members = ({ list }: Transport) => ({
  /** Lists the members of the organization. */
  list: (options?: RequestOptions): Pages<Member> => list("GET /members", {}, options)
})
