import type { WithResponse } from "./Attempt.ts"
import type { CreateTag, Tag } from "./Contract.ts"
import type { Pages } from "./Pages.ts"
import type { RequestOptions, Transport } from "./Transport.ts"

/** `/tags`: list and create. */
export const tags = ({ list, one }: Transport) => ({
  /** Lists the tags, ordered by name. */
  list: (options?: RequestOptions): Pages<Tag> => list("GET /tags", {}, options),
  /** Creates a tag. A name that exists already, regardless of case, is rejected with `conflict`. */
  create: (tag: CreateTag, options?: RequestOptions): Promise<WithResponse<Tag>> =>
    one("POST /tags", { body: tag }, options)
})
