/** Writes docs/configuration.md and docs/cli.md: part of `npm run docs`. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect } from "effect"
import { writeFileSync } from "node:fs"
import * as Reference from "./Reference.ts"

writeFileSync("docs/configuration.md", Reference.configuration)
writeFileSync("docs/cli.md", await Effect.runPromise(Effect.provide(Reference.cli, NodeServices.layer)))
