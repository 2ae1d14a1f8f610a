import { layer } from "@messaging-crm/adapter-postgres"
import * as Storage from "@messaging-crm/conformance/Storage"
import * as FastCodecs from "@messaging-crm/fast/Codecs"
import { Layer } from "effect"
import * as Database from "../../testing/Database.ts"

// With the codecs of `serve`. The other tests of this package use those of the schemas.
Storage.portSuite("postgres", layer.pipe(Layer.provide(Database.layer), Layer.provideMerge(FastCodecs.layer)), {
  runs: Number(process.env["PROPERTY_RUNS"] ?? 15)
})
