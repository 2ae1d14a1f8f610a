import { assert, describe, it } from "@effect/vitest"
import * as Changes from "@messaging-crm/core/Changes"
import { OrganizationId, TagId } from "@messaging-crm/core/Ids"
import { limits } from "@messaging-crm/core/Limits"
import { OrganizationRows } from "@messaging-crm/core/Organizations"
import * as Tags from "@messaging-crm/core/Tags"
import { Option, Result } from "effect"
import { context, id, noon, refusal, tag } from "./Fixtures.ts"

describe("a tag", () => {
  const organization = { id: OrganizationId.make(id(40)), name: "Acme", created_at: noon, version: 2 }
  const create = (tags: ReadonlyArray<Tags.Tag>, name = "VIP") =>
    Tags.create(
      { organization: Option.some(organization), tags },
      Tags.CreateTag.make({ name, color: "red" }),
      context()
    )
  const many = (count: number) =>
    Array.from({ length: count }, (_, index): Tags.Tag => ({ ...tag, id: TagId.make(id(index)), name: `${index}` }))

  it("is created, and updates the organization's version, so that concurrent creations of the last one conflict", () => {
    const created = { id: TagId.make(id(100)), name: "VIP", color: "red" } as const
    assert.deepStrictEqual(Result.getOrThrow(create([])), {
      answer: created,
      changes: Changes.all(
        Tags.TagRows.insert({ ...created, name_key: "vip" }),
        OrganizationRows.update(organization, {})
      )
    })
  })

  it("is refused when its name exists in any case, and when there is the maximum of tags", () => {
    assert.strictEqual(refusal(create([tag])), "TagNameTaken")
    assert.isNull(refusal(create(many(limits.tags_max - 1))))
    assert.strictEqual(refusal(create(many(limits.tags_max))), "TooManyTags")
    assert.strictEqual(refusal(create([...many(limits.tags_max), tag])), "TagNameTaken")
  })
})
