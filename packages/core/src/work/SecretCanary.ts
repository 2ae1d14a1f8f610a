/**
 * Secret canary: proves that a process has a key under which the stored secrets are encrypted.
 *
 * The first process of a database stores an encrypted text. A process that cannot decrypt it has other
 * root keys, and could decrypt no token of a channel and no signing secret of a webhook either. So it
 * is not ready, and claims nothing.
 */
import { Clock, Context, Effect, Layer, Option } from "effect"
import { Secrets } from "../kernel/Secrets.ts"

/** The encryption context of the canary. */
const context = "canary"

/** How long the result of a check is cached, in milliseconds. */
const checked_millis = 5000

// ---------------------------------------------------------------- port

/**
 * Port: the encrypted canary.
 *
 * **Contract** (checked by `conformance/Ports/SecretCanary.ts`)
 *
 * - `insert` stores it, unless there is one. Of concurrent inserts, the first one wins.
 * - `replace` replaces it if it is still `before`.
 */
export class SecretCanaryStore extends Context.Service<SecretCanaryStore, {
  readonly find: Effect.Effect<Option.Option<string>>
  readonly insert: (sealed: string) => Effect.Effect<void>
  readonly replace: (before: string, after: string) => Effect.Effect<void>
}>()("@messaging-crm/core/SecretCanary/SecretCanaryStore") {}

// ---------------------------------------------------------- operations

export class SecretCanary extends Context.Service<SecretCanary, {
  /** Returns whether a key of this process decrypts the canary; none if there is no canary. Stores nothing. */
  readonly peek: Effect.Effect<Option.Option<boolean>>
  /** Returns whether a key of this process decrypts the canary. Stores a missing canary. */
  readonly check: Effect.Effect<boolean>
  /** The same for a long-running process: checks every 5 seconds, and logs if no key decrypts the canary. */
  readonly isReadable: Effect.Effect<boolean>
  /** Re-encrypts the canary under the newest key, after the other secrets, so that the older key can be removed. */
  readonly reseal: Effect.Effect<void>
}>()("@messaging-crm/core/SecretCanary") {
  static readonly layer = Layer.effect(
    SecretCanary,
    Effect.gen(function*() {
      const secrets = yield* Secrets
      const store = yield* SecretCanaryStore
      let last: { readonly at: number; readonly sealed: string; readonly isOpen: boolean } | null = null

      const seal = secrets.seal(context, context)
      const opens = (sealed: string) => Effect.map(secrets.open(context, sealed), Option.isSome)

      const findOrInsert = Effect.gen(function*() {
        const found = yield* store.find
        if (Option.isSome(found)) return found.value
        yield* store.insert(yield* seal)
        return Option.getOrThrow(yield* store.find)
      })

      const peek = Effect.flatMap(
        store.find,
        Option.match({ onNone: () => Effect.succeedNone, onSome: (sealed) => Effect.asSome(opens(sealed)) })
      )

      const isReadable = Effect.gen(function*() {
        const at = yield* Clock.currentTimeMillis
        if (last !== null && at - last.at < checked_millis) return last.isOpen
        const sealed = yield* findOrInsert
        const isOpen = sealed === last?.sealed ? last.isOpen : yield* opens(sealed)
        if (!isOpen && last?.isOpen !== false) {
          yield* Effect.logError(
            "No key in SECRET_KEY (RootKeys if the core is embedded) decrypts the database's secrets; the process is not ready and claims no work"
          )
        }
        last = { at, sealed, isOpen }
        return isOpen
      }).pipe(Effect.withTracerEnabled(false))

      const reseal = Effect.gen(function*() {
        const sealed = yield* findOrInsert
        if (sealed.startsWith(secrets.sealPrefix) || !(yield* opens(sealed))) return
        yield* store.replace(sealed, yield* seal)
      })

      return SecretCanary.of({ peek, check: Effect.flatMap(findOrInsert, opens), isReadable, reseal })
    })
  )
}
