/** A folder with programs of Debian 13, whose PostgreSQL and pgBackRest have the versions that the guide describes. */
import { Effect } from "effect"
import { execFile } from "node:child_process"
import { appendFile, chmod, chown, mkdir, readdir } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"

const packages = "postgresql-17,pgbackrest"

/** The user of the programs: PostgreSQL does not run as root. */
const nobody = 65_534

export interface Debian {
  readonly root: string
  /** Runs a program inside the folder as another user than root, and returns its output. */
  readonly run: (program: string, ...args: ReadonlyArray<string>) => Effect.Effect<string>
}

const execute = (program: string, args: ReadonlyArray<string>) =>
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
export const install = Effect.fnUntraced(function*(root: string) {
  const mirror = yield* findMirror
  const options = ["--foreign", "--variant=minbase", `--include=${packages}`]
  yield* execute("debootstrap", [...options, "trixie", root, mirror])
  yield* unpack(root)
  yield* Effect.promise(async () => {
    await appendFile(join(root, "etc/passwd"), `nobody:x:${nobody}:${nobody}::/data:/bin/sh\n`)
    await appendFile(join(root, "etc/group"), `nogroup:x:${nobody}:\n`)
    await chmod(join(root, "dev/shm"), 0o1777)
    for (const folder of ["data", "backup"]) {
      await mkdir(join(root, folder))
      await chown(join(root, folder), nobody, nobody)
    }
  })
  const environment = ["env", "-i", "LC_ALL=C", "PATH=/usr/lib/postgresql/17/bin:/usr/bin"]
  return {
    root,
    run: (program, ...args) =>
      execute("chroot", [`--userspec=${nobody}:${nobody}`, root, ...environment, program, ...args])
  } satisfies Debian
})
