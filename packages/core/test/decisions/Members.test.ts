import { assert, it } from "@effect/vitest"
import { ApiKeyId, MemberId } from "@messaging-crm/core/Ids"
import { LastOwner, MemberNotFound, type MemberRow, type Role } from "@messaging-crm/core/Members"
import { DateTime, Option, Result } from "effect"
import type { ApiKeyRow } from "../../src/accounts/ApiKey.ts"
import { change as changeAt } from "../../src/accounts/Members.ts"

const now = DateTime.makeUnsafe("2026-11-20T12:00:00.000Z")

const member = (number: number, role: Role, left_at: MemberRow["left_at"] = null): MemberRow => ({
  id: MemberId.make(`01990000-0000-7000-8000-00000000000${number}`),
  name: "Ada",
  email: `${number}@acme.example`,
  email_key: `${number}@acme.example`,
  role,
  created_at: now,
  left_at,
  logged_out_at: null,
  version: 7
})

type Loaded = Parameters<typeof changeAt>[0]

const change = (
  { keys = [], ...loaded }: Omit<Loaded, "keys"> & Partial<Pick<Loaded, "keys">>,
  set: Parameters<typeof changeAt>[1]
) => changeAt({ ...loaded, keys }, set, now)

const [ada, bob] = [member(1, "owner"), member(2, "owner")]
const leaving = [{ left_at: now }, { role: "admin" }, { role: "member" }] as const

it("the last owner can neither leave nor change their role", () => {
  for (const set of leaving) {
    for (const other of [Option.none(), Option.some(member(2, "admin")), Option.some(member(2, "owner", now))]) {
      assert.deepStrictEqual(change({ found: Option.some(ada), other }, set), Result.fail(new LastOwner()))
    }
  }
})

it("an owner can leave or change their role while another owner stays, which the commit checks", () => {
  for (const set of leaving) {
    const { changes } = Result.getOrThrow(change({ found: Option.some(ada), other: Option.some(bob) }, set))
    assert.deepNestedInclude(changes, { "expect[0].key.id": bob.id, "expect[0].version": bob.version })
  }
})

it("a member who is no owner, or stays one, needs no other owner", () => {
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

it("the keys of a member who leaves or may not hold keys are revoked in the same commit, those of others stay", () => {
  const key: ApiKeyRow = {
    id: ApiKeyId.make("01990000-0000-7000-8000-0000000000aa"),
    name: "shop",
    scopes: ["tags:read"],
    created_by: ada.id,
    created_at: now,
    expires_at: now,
    revoked_at: null,
    last_used_at: null,
    digest: "a".repeat(64),
    version: 5
  }
  const keys = [key, { ...key, created_by: bob.id }, { ...key, revoked_at: now }]
  const changesOf = (set: Parameters<typeof change>[1]) =>
    Result.getOrThrow(change({ found: Option.some(ada), other: Option.some(bob), keys }, set)).changes
  for (const set of [{ left_at: now }, { role: "member" }] as const) {
    const [, revoked, ...others] = changesOf(set).update ?? []
    assert.deepStrictEqual(others, [])
    assert.deepStrictEqual(revoked?.set, { revoked_at: now })
    assert.deepStrictEqual([revoked?.key, revoked?.version], [{ id: key.id }, 5])
  }
  for (const role of ["owner", "admin"] as const) assert.lengthOf(changesOf({ role }).update ?? [], 1)
})
