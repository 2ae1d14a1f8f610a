/** The promises of `Commit`, without batches. */
import { it } from "@effect/vitest"
import { layer } from "@messaging-crm/adapter-postgres"
import * as Commit from "@messaging-crm/conformance/Commit"
import { Ids } from "@messaging-crm/core/Ids"
import { Layer } from "effect"
import * as PlainCommit from "../src/work/Commit.ts"
import * as Database from "../testing/Database.ts"

const storage = Layer.mergeAll(layer, PlainCommit.layer, Ids.layer).pipe(Layer.provide(Database.layer))

it.layer(storage, { timeout: "5 minutes" })("Commit without batches", (it) => Commit.suite(it, { runs: 15 }))
