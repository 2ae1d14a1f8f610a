/** Several clients of one database, which stand for several processes. */
import { layer } from "@messaging-crm/adapter-postgres"
import * as Provider from "@messaging-crm/conformance/Provider"
import { Ids } from "@messaging-crm/core/Ids"
import { Layer } from "effect"
import * as Database from "../testing/Database.ts"

/** Layer for a database of the suite's own with one process on it. */
export const database = Layer.mergeAll(layer, Ids.layer).pipe(Layer.provideMerge(Database.layer))

/** Starts one more process, with connections of its own. */
export const start = Layer.build(Layer.fresh(layer.pipe(Layer.provideMerge(Database.layerClient))))

/** Starts one more process that carries out operations, with a scripted world outside. */
export const startCrm = Layer.build(Layer.fresh(
  Provider.crm(layer).pipe(Layer.provideMerge(Database.layerClient))
))
