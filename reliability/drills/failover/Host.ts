/** A host of the database: its own network and folders, in which the programs of a Debian folder run. */
import { Effect } from "effect"
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { chown, mkdir, open } from "node:fs/promises"
import { join } from "node:path"
import type { Environment } from "../../../packages/server/testing/processes/Processes.ts"
import * as Debian from "../harness/Debian.ts"

/** A program that can be killed and started again. */
export interface Program {
  readonly start: Effect.Effect<void>
  /** Kills the program's own process with `kill -9`, but none of those that it started. */
  readonly kill: Effect.Effect<void>
}

export interface Host {
  readonly name: string
  readonly address: string
  /** Returns the path of a file of the host. */
  readonly pathOf: (path: string) => string
  /** Runs a program as the user `postgres`, and returns its output. */
  readonly run: (name: string, args: ReadonlyArray<string>) => Effect.Effect<string>
  readonly program: (name: string, args: ReadonlyArray<string>, environment: Environment) => Program
  /** Connects the host to the network, or removes its cable: its packets are lost. */
  readonly setConnected: (connected: boolean) => Effect.Effect<void>
}

/** The folders that each host has for itself; the other ones of Debian are shared. */
const own = ["etc/patroni", "run", "tmp", "var/lib"]

const bridge = "hosts"

/** The address of this process for the hosts. */
const own_address = "10.77.0.254"

const ip = (line: string) => Debian.execute("ip", line.split(" "))

/** Creates the network of the hosts in the namespace of this process, which has none yet. */
export const network = Effect.forEach(
  [
    "link set lo up",
    `link add name ${bridge} type bridge`,
    `address add ${own_address}/24 dev ${bridge}`,
    `link set ${bridge} up`
  ],
  ip,
  { discard: true }
)

/** A process that keeps the namespaces of a host, and gives it its name and its folders. */
const keeper = Effect.fnUntraced(function*(root: string, directory: string, name: string) {
  const script = `
    set -e
    hostname "$1"
    ip link set lo up
    for folder in ${own.join(" ")}; do mount --bind "$2/$folder" "$3/$folder"; done
    echo ready
    exec sleep infinity
  `
  const child = spawn("unshare", ["--net", "--mount", "--uts", "sh", "-c", script, "-", name, directory, root], {
    stdio: ["ignore", "pipe", "inherit"]
  })
  const [line] = yield* Effect.promise(() => Promise.race([once(child.stdout, "data"), once(child, "exit")]))
  if (!(line instanceof Buffer)) return yield* Effect.die(new Error(`The host ${name} ended with ${String(line)}.`))
  return String(child.pid)
})

/** Starts a process that appends its output to a file. */
export const spawnLogged = async (program: string, args: ReadonlyArray<string>, file: string) => {
  const log = await open(file, "a")
  const child = spawn(program, args, { stdio: ["ignore", log.fd, log.fd] })
  await log.close()
  return child
}

const makeProgram = (spawnIt: () => Promise<ChildProcess>): Program => {
  let running: ChildProcess | undefined
  return {
    start: Effect.promise(async () => {
      running = await spawnIt()
    }),
    kill: Effect.promise(async () => {
      if (running === undefined || running.exitCode !== null || running.signalCode !== null) return
      const exit = once(running, "exit")
      running.kill("SIGKILL")
      await exit
    })
  }
}

/** Makes a host in an empty directory. Its programs write their output to `NAME.log` there. */
export const make = Effect.fnUntraced(
  function*(root: string, options: { directory: string; name: string; address: string }) {
    const { address, directory, name } = options
    yield* Effect.promise(async () => {
      for (const folder of [...own, "run/postgresql"]) {
        await mkdir(join(directory, folder), { recursive: true })
        await chown(join(directory, folder), Debian.user_id, Debian.user_id)
      }
    })
    const pid = yield* keeper(root, directory, name)
    yield* ip(`link add name ${name} type veth peer name eth0 netns ${pid}`)
    yield* ip(`link set ${name} master ${bridge} up`)
    for (const line of [`address add ${address}/24 dev eth0`, "link set eth0 up"]) {
      yield* Debian.execute("nsenter", [`--net=/proc/${pid}/ns/net`, "ip", ...line.split(" ")])
    }
    const namespaces = Object.entries({ net: "net", mount: "mnt", uts: "uts" })
    const enter = [
      ...namespaces.map(([option, file]) => `--${option}=/proc/${pid}/ns/${file}`),
      ...Debian.enter(root)
    ]
    return {
      name,
      address,
      pathOf: (path) => join(directory, path),
      run: (program, args) => Debian.execute("nsenter", [...enter, program, ...args]),
      program: (program, args, environment) =>
        makeProgram(() => {
          const variables = Object.entries(environment).map(([name, value]) => `${name}=${value}`)
          // Each of these programs replaces itself by the next one, so that the process is the program's own.
          return spawnLogged("nsenter", [...enter, ...variables, program, ...args], join(directory, `${program}.log`))
        }),
      setConnected: (connected) => Effect.asVoid(ip(`link set ${name} ${connected ? "up" : "down"}`))
    } satisfies Host
  }
)
