/** Getters that only normalize, such as trimming: what the service has stored is normalized already. */
import { SchemaGetter } from "effect"

/** Makes the getter of a decoding that only normalizes, and is idempotent. */
export const normalizing = <A>(normalize: (value: A) => A): SchemaGetter.Getter<A, A> =>
  Object.assign(SchemaGetter.transform(normalize), { isNormalizing: true })

/** Returns whether a getter only normalizes, so that decoding an own value may leave it out. */
export const isNormalizing = (getter: object): boolean => "isNormalizing" in getter
