import { layer } from "@messaging-crm/adapter-postgres"
import { Layer } from "effect"
import * as Database from "../../testing/Database.ts"

/** The storage under test. */
export const storage = layer.pipe(Layer.provide(Database.layer))

export const options = { runs: Number(process.env["PROPERTY_RUNS"] ?? 15) }
