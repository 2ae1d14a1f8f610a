/** The service as the container image starts it. */
import { Schema } from "effect"
import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("../../../..", import.meta.url))

const Entrypoint = Schema.fromJsonString(Schema.TupleWithRest(Schema.Tuple([Schema.Literal("node")]), [Schema.String]))

/** Bundles the service, and returns the arguments and the environment of the image for `Processes.Program`. */
export const bundled = () => {
  execFileSync("npm", ["run", "--silent", "bundle"], { cwd: root })
  const image = readFileSync(join(root, "Dockerfile"), "utf8")
  const [entrypoint] = /(?<=^ENTRYPOINT ).*$/m.exec(image) ?? []
  const [, ...words] = Schema.decodeUnknownSync(Entrypoint)(entrypoint)
  return {
    words: words.map((word) => word.endsWith(".js") ? join(root, word) : word),
    environment: Object.fromEntries(
      Array.from(image.matchAll(/^ENV (\w+)=(.*)$/gm), ([, name, value]) => [name, value])
    )
  }
}
