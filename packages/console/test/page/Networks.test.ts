/** The page's own table of networks, which the API does not describe, compared with core's. */
import { assert, it } from "@effect/vitest"
import { ChannelType, networkOf } from "@messaging-crm/core/Channels"
import { hasTemplates, networkName } from "../../page/elements/networks.mjs"

for (const type of ChannelType.literals) {
  it(`${type} has its name and abilities in the page`, () => {
    const { has_templates, name } = networkOf(type)
    assert.deepStrictEqual([networkName({ type }), hasTemplates({ type })], [name, has_templates])
  })
}
