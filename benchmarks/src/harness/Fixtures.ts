/** Unpublished parts of the packages that the benchmarks use, imported by their paths. */
export * as Crowd from "../../../packages/adapter-postgres/testing/Crowd.ts"
export * as CallbackBodies from "../../../packages/provider-cloud/src/fake/CallbackBodies.ts"
export { mutatedBody } from "../../../packages/provider-cloud/testing/MutatedBodies.ts"
export { freePort } from "../../../packages/server/src/dev/FreePort.ts"
export { bundled } from "../../../packages/server/testing/Bundle.ts"
export { folder } from "../../../packages/server/testing/Folder.ts"
export * as Processes from "../../../packages/server/testing/Processes.ts"
export * as Subscribers from "../../../packages/server/testing/Subscribers.ts"
