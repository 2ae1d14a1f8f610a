/** How much of a person's data one commit of an erasure writes (contract §20.2). */
import { assert, it } from "@effect/vitest"
import { MediaId } from "@messaging-crm/core/Ids"
import type { MessageRow } from "@messaging-crm/core/Messages"
import { withinFileBytes } from "../../src/privacy/ContactErasure.ts"
import { id, message } from "./Fixtures.ts"

const withFile = (byte_size: number | null): MessageRow => ({
  ...message,
  media: {
    id: byte_size === null ? null : MediaId.make(id(900)),
    kind: "image",
    mime_type: "image/png",
    filename: null,
    transcript: null,
    byte_size
  }
})

it("one commit erases files of 100 MB at most, or a single larger one", () => {
  const cases = [
    [[], 0],
    [[16_000_000, null, 16_000_000], 3],
    [Array.from({ length: 100 }, () => 16_000_000), 6],
    [[60_000_000, 40_000_000, 1], 2],
    [[200_000_000, 1], 1]
  ] as const
  for (const [sizes, expected] of cases) assert.lengthOf(withinFileBytes(sizes.map(withFile)), expected)
  assert.lengthOf(withinFileBytes([message, withFile(200_000_000), message]), 1)
})
