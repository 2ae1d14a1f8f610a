/** Tests of the guarantees of `Commit`, without batches, and of stores that read most types of columns, with the schemas' codecs. */
import { it } from "@effect/vitest"
import { layer } from "@messaging-crm/adapter-postgres"
import * as Commit from "@messaging-crm/conformance/Commit"
import { Ids } from "@messaging-crm/core/Ids"
import { Layer } from "effect"
import * as Contacts from "../../conformance/src/Ports/Contacts.ts"
import * as Conversations from "../../conformance/src/Ports/Conversations.ts"
import * as Messages from "../../conformance/src/Ports/Messages.ts"
import * as PlainCommit from "../src/work/Commit.ts"
import * as Database from "../testing/Database.ts"

const storage = Layer.mergeAll(layer, PlainCommit.layer, Ids.layer).pipe(Layer.provide(Database.layer))

it.layer(storage, { timeout: "5 minutes" })("Commits without batches and the schemas' codecs", (it) => {
  for (const { portTests } of [Commit, Contacts, Conversations, Messages]) portTests(it, { runs: 5 })
})
