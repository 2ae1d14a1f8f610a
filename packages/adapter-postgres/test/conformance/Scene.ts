import { layer } from "@messaging-crm/adapter-postgres"
import * as FastCodecs from "@messaging-crm/fast/Codecs"
import { Layer } from "effect"
import * as Database from "../../testing/Database.ts"

/** The storage under test, with the codecs of `serve`. The other tests of this package use those of the schemas. */
export const storage = layer.pipe(Layer.provide(Database.layer), Layer.provideMerge(FastCodecs.layer))

export const options = { runs: Number(process.env["PROPERTY_RUNS"] ?? 15) }
