/** Signatures and sealed texts, also after a change of the root key. */
import { assert, describe, it, vi } from "@effect/vitest"
import * as Memory from "@messaging-crm/adapter-memory"
import { hardText } from "@messaging-crm/conformance/Arbitraries"
import { ScriptedEndpoints } from "@messaging-crm/conformance/Endpoints"
import * as Fixtures from "@messaging-crm/conformance/Fixtures"
import * as Provider from "@messaging-crm/conformance/Provider"
import { CurrentActor } from "@messaging-crm/core/Actor"
import * as Crm from "@messaging-crm/core/Crm"
import { hex, webCrypto } from "@messaging-crm/core/Digests"
import { Idempotency, IdempotencyKey, IdempotencyStore } from "@messaging-crm/core/Idempotency"
import { Ids } from "@messaging-crm/core/Ids"
import { Phone } from "@messaging-crm/core/Phones"
import { RootKeys, Secrets } from "@messaging-crm/core/Secrets"
import { Sends, StartConversation } from "@messaging-crm/core/Sends"
import { CreateWebhook, Webhooks } from "@messaging-crm/core/Webhooks"
import { Worker } from "@messaging-crm/core/Worker"
import { Cause, Effect, Exit, Layer, Option, Redacted } from "effect"
import { crc32 } from "node:zlib"
import { checksum } from "../src/accounts/KeyChecksum.ts"

const rootKey = (byte: number) => Redacted.make(new Uint8Array(32).fill(byte))
const [old, young, other] = [rootKey(1), rootKey(2), rootKey(3)]

const secretsOf = (...keys: ReadonlyArray<typeof old>) =>
  Secrets.layer.pipe(Layer.provide(Layer.succeed(RootKeys, keys)))

const sealed = (text: string) => Secrets.use((secrets) => secrets.seal("context", text))
const opened = (text: string, context = "context") => Secrets.use((secrets) => secrets.open(context, text))

it.effect.prop(
  "decrypts what it encrypted, and nothing that was modified",
  { text: hardText({ min: 0, max: 60 }) },
  ({ text }) =>
    Effect.gen(function*() {
      const [one, same] = [yield* sealed(text), yield* sealed(text)]
      assert.notStrictEqual(one, same)
      assert.deepStrictEqual(yield* opened(one), Option.some(text))
      assert.deepStrictEqual(yield* opened(one, "another context"), Option.none())
      for (const part of [1, 2, 3]) {
        const parts = one.split(".")
        const swapped = parts.with(part, `${parts[part]?.startsWith("A") ? "B" : "A"}${parts[part]?.slice(1)}`)
        assert.deepStrictEqual(yield* opened(swapped.join(".")), Option.none())
      }
      assert.deepStrictEqual(yield* opened(`${one}.x`), Option.none())
      assert.deepStrictEqual(yield* opened(one.replace("v1.", "v2.")), Option.none())
      assert.deepStrictEqual(yield* opened(text), Option.none())
    }).pipe(Effect.provide(secretsOf(old)))
)

it.effect("encrypts with the newest key, and decrypts with every configured key", () =>
  Effect.gen(function*() {
    const before = yield* sealed("hello").pipe(Effect.provide(secretsOf(old)))
    yield* Effect.gen(function*() {
      const after = yield* sealed("hello")
      const { sealPrefix } = yield* Secrets
      assert.isTrue(after.startsWith(sealPrefix))
      assert.isFalse(before.startsWith(sealPrefix))
      assert.deepStrictEqual(yield* opened(before), Option.some("hello"))
      assert.deepStrictEqual(yield* opened(after), Option.some("hello"))
    }).pipe(Effect.provide(secretsOf(young, old)))
    assert.deepStrictEqual(yield* opened(before).pipe(Effect.provide(secretsOf(young))), Option.none())
  }))

it.effect("decrypts what an earlier version encrypted", () =>
  Effect.gen(function*() {
    const { sealPrefix } = yield* Secrets
    assert.strictEqual(sealPrefix, "v1.cabf5820.")
    assert.deepStrictEqual(
      yield* opened("v1.cabf5820.zC5T-azjNNP70W47.xm05yK0UyPYhUCRzB5xRvYHfGPG6"),
      Option.some("hello")
    )
  }).pipe(Effect.provide(secretsOf(old))))

it.effect("digests and authenticates text as FIPS 180 and RFC 4231 do", () =>
  Effect.gen(function*() {
    const digest = yield* webCrypto.sha256("abc")
    assert.strictEqual(digest, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    const signing = yield* webCrypto.hmac(new TextEncoder().encode("Jefe"))
    const signature = yield* signing("what do ya want for nothing?")
    assert.strictEqual(hex(signature), "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
  }))

it.effect("signs with the newest key for one purpose, and verifies with every configured key", () =>
  Effect.gen(function*() {
    const sign = (purpose: string, text: string) => Secrets.use((secrets) => secrets.sign(purpose, text))
    const verify = (purpose: string, text: string, signature: string) =>
      Secrets.use((secrets) => secrets.verify(purpose, text, signature))
    const signature = yield* sign("cursor", "text").pipe(Effect.provide(secretsOf(old)))
    assert.match(signature, /^[0-9a-f]{32}$/)
    for (const keys of [[old], [young, old], [old, young]]) {
      yield* Effect.gen(function*() {
        assert.isTrue(yield* verify("cursor", "text", signature))
        for (const [purpose, text] of [["media", "text"], ["cursor", "texts"], ["curso", "rtext"]] as const) {
          assert.isFalse(yield* verify(purpose, text, signature))
        }
        for (const forged of ["", signature.slice(1), `${signature}0`, signature.toUpperCase()]) {
          assert.isFalse(yield* verify("cursor", "text", forged), forged)
        }
      }).pipe(Effect.provide(secretsOf(...keys)))
    }
    assert.isFalse(yield* verify("cursor", "text", signature).pipe(Effect.provide(secretsOf(young))))
    assert.strictEqual(yield* sign("cursor", "text").pipe(Effect.provide(secretsOf(old, young))), signature)
  }))

describe("random text", () => {
  const random = (length: number) => Secrets.use((secrets) => secrets.randomBase62(length))

  it.effect("is as long as it should be, of digits and letters", () =>
    Effect.gen(function*() {
      for (const length of [1, 37, 1000]) assert.match(yield* random(length), new RegExp(`^[0-9A-Za-z]{${length}}$`))
      assert.strictEqual(new Set(yield* random(10_000)).size, 62)
    }).pipe(Effect.provide(secretsOf(old))))

  it.effect("has each character with the same chance", () =>
    Effect.gen(function*() {
      let next = 256
      const bytes = vi.spyOn(globalThis.crypto, "getRandomValues").mockImplementation((array) =>
        // Only bytes are asked for.
        (array as Uint8Array).map(() => (next = (next + 255) % 256)) as unknown as typeof array
      )
      // 496 characters need more than 256 bytes. Without bias, each of the 62 characters then appears eight times.
      const text = yield* Effect.ensuring(random(496), Effect.sync(() => bytes.mockRestore()))
      const counts = Map.groupBy(text, (character) => character)
      assert.strictEqual(counts.size, 62)
      for (const [character, found] of counts) assert.lengthOf(found, 8, character)
    }).pipe(Effect.provide(secretsOf(old))))

  it.prop(
    "ends with a checksum: its CRC-32 in six digits of base62",
    { text: hardText({ min: 0, max: 60 }) },
    ({ text }) => {
      const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
      assert.lengthOf(checksum(text), 6)
      assert.strictEqual(
        Array.from(checksum(text)).reduce((sum, digit) => sum * 62 + digits.indexOf(digit), 0),
        crc32(text)
      )
    }
  )
})

/** Every operation under some root keys, over one world for all of them. */
const under = (...keys: ReadonlyArray<typeof old>) =>
  Effect.provide(Crm.layer.pipe(Layer.provide(Layer.succeed(RootKeys, keys)), Layer.fresh))

const outside = Layer.mergeAll(Memory.layer, Provider.layer("callback_ref"), Ids.layer)

it.effect("delivers to a webhook during a rotation of the root key", () =>
  Effect.gen(function*() {
    const organization_id = yield* Fixtures.organization
    const channel = yield* Fixtures.channel(organization_id)
    const as = Effect.provideService(CurrentActor, { organization_id, member_id: null })
    const url = "https://shop.example/crm"
    const posted = ScriptedEndpoints.use((endpoints) => endpoints.posted(url))
    const send = Effect.gen(function*() {
      yield* Sends.use((sends) =>
        sends.start(StartConversation.make({
          channel_id: channel.id,
          phone: Phone.make("+4915112345678"),
          template: { id: "greeting", components: [{ type: "body", parameters: [{ type: "text", text: "Kim" }] }] }
        }))
      ).pipe(as)
      const worker = yield* Worker
      while ((yield* worker.runOnce) > 0) continue
    })
    yield* Webhooks.use((webhooks) => webhooks.create(CreateWebhook.make({ url, event_types: ["message.sent"] }))).pipe(
      as,
      under(old)
    )
    yield* send.pipe(under(young, old))
    assert.lengthOf(yield* posted, 1)
    assert.strictEqual(yield* Webhooks.use((webhooks) => webhooks.reseal).pipe(under(young, old)), 1)
    assert.strictEqual(yield* Webhooks.use((webhooks) => webhooks.reseal).pipe(under(young, old)), 0)
    yield* send.pipe(under(young))
    assert.lengthOf(yield* posted, 2)
    // Without the root key the delivery stays pending, for a process that has the key.
    yield* send.pipe(under(other))
    assert.lengthOf(yield* posted, 2)
  }).pipe(Effect.provide(outside)))

it.effect("stores a secret response encrypted, and replays the same bytes", () =>
  Effect.gen(function*() {
    const organization_id = yield* Fixtures.organization
    const encode = (answer: unknown) => Effect.succeed({ status: 200, body: JSON.stringify(answer) })
    const input = CreateWebhook.make({ url: "https://shop.example/crm", event_types: ["message.sent"] })
    const key = IdempotencyKey.make("create-webhook-1")
    const once = Idempotency.use((idempotency) =>
      idempotency.once(
        { ...Fixtures.keyedRequest, key },
        (record) => Webhooks.use((webhooks) => webhooks.create(input, { encode, record }))
      )
    ).pipe(Effect.provideService(CurrentActor, { organization_id, member_id: null }))
    const first = yield* once.pipe(under(old))
    assert.include(first.body, "whsec_")
    const replay = yield* once.pipe(under(young, old))
    assert.isTrue(replay.replayed)
    assert.deepStrictEqual(Array.from(replay.body), Array.from(first.body))
    const kept = Option.getOrThrow(yield* IdempotencyStore.use((store) => store.find(organization_id, key)))
    assert.notInclude(kept.body ?? "", "whsec_")
    const lost = yield* Effect.exit(once.pipe(under(young)))
    assert.isTrue(Exit.isFailure(lost) && Cause.hasDies(lost.cause))
  }).pipe(Effect.provide(outside)))
