import { assert, it } from "@effect/vitest"
import { MemberId } from "@messaging-crm/core/Ids"
import { LastOwner, MemberNotFound, type MemberRow, type Role } from "@messaging-crm/core/Members"
import { DateTime, Option, Result } from "effect"
import { change } from "../../src/accounts/Members.ts"

const now = DateTime.makeUnsafe("2026-11-20T12:00:00.000Z")

const member = (number: number, role: Role, left_at: MemberRow["left_at"] = null): MemberRow => ({
  id: MemberId.make(`01990000-0000-7000-8000-00000000000${number}`),
  name: "Ada",
  email: `${number}@acme.example`,
  role,
  created_at: now,
  left_at,
  version: 7
})

const [ada, bob] = [member(1, "owner"), member(2, "owner")]
const leaving = [{ left_at: now }, { role: "admin" }, { role: "member" }] as const

it("the last owner neither leaves nor becomes something else", () => {
  for (const set of leaving) {
    for (const other of [Option.none(), Option.some(member(2, "admin")), Option.some(member(2, "owner", now))]) {
      assert.deepStrictEqual(change({ found: Option.some(ada), other }, set), Result.fail(new LastOwner()))
    }
  }
})

it("an owner goes while another stays, which the commit checks", () => {
  for (const set of leaving) {
    const { changes } = Result.getOrThrow(change({ found: Option.some(ada), other: Option.some(bob) }, set))
    assert.deepNestedInclude(changes, { "expect[0].key.id": bob.id, "expect[0].version": bob.version })
  }
})

it("everybody else may go without", () => {
  const admin = Option.some(member(3, "admin"))
  for (const set of leaving) assert.isTrue(Result.isSuccess(change({ found: admin, other: Option.none() }, set)))
  const same = change({ found: Option.some(ada), other: Option.none() }, { role: "owner" })
  assert.isTrue(Result.isSuccess(same))
  const gone = Option.some(member(3, "owner", now))
  assert.deepStrictEqual(
    change({ found: gone, other: Option.none() }, { role: "admin" }),
    Result.fail(new MemberNotFound())
  )
})
