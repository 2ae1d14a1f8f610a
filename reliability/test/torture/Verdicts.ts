/** Tests of the checker with handwritten histories. */
import { assert, describe, it } from "@effect/vitest"
import { check } from "../../torture/checker/Checker.ts"
import type { History } from "../../torture/History.ts"

/** The rules of single objects, requests, and responses. Handwritten histories omit the data that other rules need. */
export const objectAndRequestRules =
  /^(Calls on|Every retry|A request|Different|A replay|No request|A 503|A key|A revoked|Objects in responses|A list|A complete list|A message|An accepted|Sends of|Each request)/

/** Tests that the checker accepts histories, and reports the given rule for each of the others. Only rules of `checkedRules` count. */
export const testVerdicts = (
  name: string,
  checkedRules: RegExp,
  accepted: Readonly<Record<string, History>>,
  reported: Readonly<Record<string, readonly [RegExp, History]>>
): void => {
  const rulesOf = (one: History): ReadonlyArray<string> =>
    Array.from(new Set(check(one).map(({ rule }) => rule).filter((rule) => checkedRules.test(rule))))

  describe(name, () => {
    for (const [name, one] of Object.entries(accepted)) {
      it(`accepts ${name}`, () => assert.deepStrictEqual(rulesOf(one), []))
    }

    for (const [name, [rule, one]] of Object.entries(reported)) {
      it(`reports ${name}`, () =>
        assert.isTrue(rulesOf(one).some((violated) => rule.test(violated)), rulesOf(one).join(", ")))
    }
  })
}
