/** Processes with different root keys over one world. */
import * as Memory from "@messaging-crm/adapter-memory"
import * as Provider from "@messaging-crm/conformance/Provider"
import * as Crm from "@messaging-crm/core/Crm"
import { Ids } from "@messaging-crm/core/Ids"
import { RootKeys } from "@messaging-crm/core/Secrets"
import { Effect, Layer, Redacted, References } from "effect"

const rootKey = (byte: number) => Redacted.make(new Uint8Array(32).fill(byte))

export const [old, young, other] = [rootKey(1), rootKey(2), rootKey(3)]

/** Every operation of a process with some root keys, over one world for all of them. */
export const under = (...keys: ReadonlyArray<typeof old>) =>
  Effect.provide(
    Crm.layer.pipe(
      Layer.provide(Layer.succeed(RootKeys, keys)),
      Layer.provide(Layer.succeed(References.MinimumLogLevel, "None")),
      Layer.fresh
    )
  )

/** The world of all processes. */
export const outside = Layer.mergeAll(Memory.layer, Provider.layer("callback_ref"), Ids.layer)
