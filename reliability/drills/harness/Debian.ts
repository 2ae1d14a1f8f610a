/** A folder with programs of Debian 13, which have the versions that the guides describe. */
import { Effect } from "effect"
import { execFile } from "node:child_process"
import { existsSync } from "node:fs"
import { appendFile, chmod, chown, mkdir, readdir, rm, symlink, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { folder } from "../../../packages/server/testing/Folder.ts"

/** The packages of all drills, so that drills can share a folder. */
const packages = "postgresql-17,pgbackrest,patroni,python3-etcd,etcd-server,haproxy"

/** The user of the programs: PostgreSQL does not run as root. Inside the folder, it has the names in `users`. */
export const user_id = 65_534

const users = ["postgres", "haproxy"]

/** The arguments of `env` before a program inside the folder. */
export const environment = ["-i", "LC_ALL=C", "PATH=/usr/lib/postgresql/17/bin:/usr/sbin:/usr/bin"]

export interface Debian {
  readonly root: string
  /** Runs a program inside the folder as another user than root, and returns its output. */
  readonly run: (program: string, ...args: ReadonlyArray<string>) => Effect.Effect<string>
}

/** Runs a program, and returns its output. */
export const execute = (program: string, args: ReadonlyArray<string>) =>
  Effect.promise((signal) => promisify(execFile)(program, args, { signal, maxBuffer: 64 * 1024 * 1024 })).pipe(
    Effect.map(({ stdout }) => stdout)
  )

const hasTrixie = (mirror: string) =>
  Effect.promise((signal) =>
    fetch(new URL("dists/trixie/Release", mirror), { method: "HEAD", signal }).then(({ ok }) => ok, () => false)
  )

/** Returns the first mirror of this machine's configuration that has Debian 13. */
const findMirror = Effect.gen(function*() {
  const mirrors = (yield* execute("apt-get", ["indextargets", "--format", "$(REPO_URI)"])).split("\n")
  for (const mirror of new Set(mirrors.filter((each) => each.startsWith("http")))) {
    if (yield* hasTrixie(mirror)) return mirror
  }
  return yield* Effect.die(new Error("No mirror in the configuration of apt has Debian 13 (trixie)."))
})

/** Unpacks the packages that debootstrap downloaded. It would also configure them, which takes two minutes. */
const unpack = Effect.fnUntraced(function*(root: string) {
  const archives = join(root, "var/cache/apt/archives")
  const script = "dpkg-deb --fsys-tarfile \"$1\" | tar -x --keep-directory-symlink --skip-old-files -C \"$2\""
  for (const file of yield* Effect.promise(() => readdir(archives))) {
    if (file.endsWith(".deb")) {
      yield* execute("bash", ["-euo", "pipefail", "-c", script, "-", join(archives, file), root])
    }
  }
})

/** Installs the programs in an empty folder. Only root can make the devices of the folder, and enter it. */
const install = Effect.fnUntraced(function*(root: string) {
  const mirror = yield* findMirror
  const options = ["--foreign", "--variant=minbase", `--include=${packages}`]
  yield* execute("debootstrap", [...options, "trixie", root, mirror])
  yield* unpack(root)
  yield* Effect.promise(async () => {
    for (const name of users) {
      await appendFile(join(root, "etc/passwd"), `${name}:x:${user_id}:${user_id}::/var/lib/postgresql:/bin/sh\n`)
      await appendFile(join(root, "etc/group"), `${name}:x:${user_id}:\n`)
    }
    await chmod(join(root, "dev/shm"), 0o1777)
    for (const folder of ["proc", "var/run"]) await rm(join(root, folder), { recursive: true })
    await mkdir(join(root, "proc"))
    await symlink("/run", join(root, "var/run"))
    await writeFile(join(root, "installed"), "")
  })
})

/** Returns the command that enters the folder as the user of the programs, before a program and its arguments. */
export const enter = (root: string): ReadonlyArray<string> => [
  "chroot",
  `--userspec=${user_id}:${user_id}`,
  root,
  "env",
  ...environment
]

/** Returns the folder with its programs, which are installed unless it has them. Its folders for data are empty. */
const at = Effect.fnUntraced(function*(root: string) {
  if (!existsSync(join(root, "installed"))) yield* install(root)
  yield* Effect.promise(async () => {
    for (const folder of ["data", "backup"].map((name) => join(root, name))) {
      await rm(folder, { recursive: true, force: true })
      await mkdir(folder)
      await chown(folder, user_id, user_id)
    }
  })
  return {
    root,
    run: (program, ...args) => execute("env", [...enter(root), program, ...args])
  } satisfies Debian
})

/** The folder that `DEBIAN_ROOT` names, which is kept, or a new one, which is removed when the scope closes. */
export const make = Effect.gen(function*() {
  return yield* at(process.env["DEBIAN_ROOT"] ?? join(yield* folder, "debian"))
})
