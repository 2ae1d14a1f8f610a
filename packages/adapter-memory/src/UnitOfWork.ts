import { UnitOfWork } from "@messaging-crm/core/UnitOfWork"
import { Effect, Layer } from "effect"
import { World } from "./World.ts"

/** Layer that makes units of work of drafts of the in-memory world. */
export const layer = Layer.effect(UnitOfWork, Effect.map(World, ({ transact }) => UnitOfWork.of({ transact })))
