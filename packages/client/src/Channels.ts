import type { Channel } from "./Contract.ts"
import type { Pages } from "./Pages.ts"
import type { RequestOptions, Transport } from "./Transport.ts"

/** `/channels`: list. */
export const channels = ({ list }: Transport) => ({
  /** Lists the connected channels. */
  list: (options?: RequestOptions): Pages<Channel> => list("GET /channels", {}, options)
})
