/** Three hosts with etcd, Patroni, and PostgreSQL, and HAProxy in front of them, as docs/high-availability.md describes. */
import { Effect, Schema } from "effect"
import { randomBytes } from "node:crypto"
import { readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { eventually } from "../../../packages/server/testing/Eventually.ts"
import * as Debian from "../harness/Debian.ts"
import { environmentOf, textOf } from "./Configuration.ts"
import * as Host from "./Host.ts"

/** A host of the cluster with its programs. */
export interface Member {
  readonly host: Host.Host
  readonly etcd: Host.Program
  readonly patroni: Host.Program
}

const names = ["db1", "db2", "db3"]
const addressOf = (index: number) => `10.77.0.${index + 1}`

const newPassword = () => randomBytes(24).toString("hex")

/** Returns the text of a response; an empty text without a response within two seconds. */
const ask = (url: string, init: RequestInit = {}) =>
  Effect.promise(() =>
    fetch(url, { ...init, signal: AbortSignal.timeout(2000) }).then((response) => response.text()).catch(() => "")
  )

const State = Schema.fromJsonString(Schema.Struct({
  members: Schema.Array(Schema.Struct({ name: Schema.String, role: Schema.String, state: Schema.String }))
}))

/** A role of which the cluster has one member. */
export type Role = "leader" | "sync_standby"

type MemberState = (typeof State)["Type"]["members"][number]

/** Returns the state of the cluster as one member has it in Patroni; nothing if it does not respond. */
const stateAt = ({ host: { address } }: Member): Effect.Effect<ReadonlyArray<MemberState>> =>
  Effect.flatMap(ask(`http://${address}:8008/cluster`), Schema.decodeUnknownEffect(State)).pipe(
    Effect.map(({ members }) => members),
    Effect.orElseSucceed(() => [])
  )

const EtcdStatus = Schema.fromJsonString(Schema.Struct({
  leader: Schema.String,
  header: Schema.Struct({ member_id: Schema.String })
}))

/** Whether the member is the leader of etcd. */
const isEtcdLeader = ({ host: { address } }: Member): Effect.Effect<boolean> =>
  Effect.flatMap(
    ask(`http://${address}:2379/v3/maintenance/status`, { method: "POST", body: "{}" }),
    Schema.decodeUnknownEffect(EtcdStatus)
  ).pipe(
    Effect.map(({ header, leader }) => leader === header.member_id),
    Effect.orElseSucceed(() => false)
  )

const isEtcdHealthy = ({ host: { address } }: Member): Effect.Effect<boolean> =>
  Effect.map(ask(`http://${address}:2379/health`), (text) => text.includes("\"health\":\"true\""))

const untilEtcdHealthy = (members: ReadonlyArray<Member>) =>
  eventually(Effect.forEach(members, isEtcdHealthy), (healthy) => healthy.every(Boolean))

const rolesOf = (members: ReadonlyArray<MemberState>): string =>
  members.map(({ role, state }) => `${role} ${state}`).toSorted().join(", ")

/** One leader, one synchronous standby, and one more standby, all of which run. */
const healthy = "leader running, replica streaming, sync_standby streaming"

/** Makes a member on its host, with the files of docs/high-availability.md. */
const makeMember = Effect.fnUntraced(
  function*(root: string, directory: string, index: number, passwords: Readonly<Record<string, string>>) {
    const name = names[index] ?? ""
    const host = yield* Host.make(root, { directory: join(directory, name), name, address: addressOf(index) })
    yield* Effect.promise(() => writeFile(host.pathOf("etc/patroni/config.yml"), textOf("patroni.yml")))
    const values = { HOST: name, ...passwords }
    return {
      host,
      etcd: host.program("etcd", [], environmentOf(textOf("etcd.env", values))),
      patroni: host.program("patroni", ["/etc/patroni/config.yml"], environmentOf(textOf("patroni.env", values)))
    } satisfies Member
  }
)

/** Starts HAProxy in the namespace of this process, as root, whose rights it drops by itself. */
const startHaproxy = Effect.fnUntraced(function*(root: string, directory: string) {
  yield* Effect.promise(() => writeFile(join(root, "etc/haproxy/haproxy.cfg"), textOf("haproxy.cfg")))
  const args = [root, "env", ...Debian.environment, "haproxy", "-db", "-f", "/etc/haproxy/haproxy.cfg"]
  yield* Effect.promise(() => Host.spawnLogged("chroot", args, join(directory, "haproxy.log")))
})

/** Creates the service's role and database. The role can create databases, because each run of the service has its own. */
const createDatabase = Effect.fnUntraced(function*({ host }: Member, password: string) {
  yield* host.run("psql", ["--command", `CREATE ROLE crm LOGIN CREATEDB PASSWORD '${password}'`])
  yield* host.run("createdb", ["--owner=crm", "crm"])
})

/** Kills PostgreSQL on a member, with all of its processes, but not Patroni. */
export const killPostgres = Effect.fnUntraced(function*({ host }: Member) {
  const file = host.pathOf("var/lib/postgresql/17/crm/postmaster.pid")
  const pid = Number.parseInt(yield* Effect.promise(() => readFile(file, "utf8")))
  const children = yield* Effect.promise(() => readFile(`/proc/${pid}/task/${pid}/children`, "utf8"))
  for (const each of [pid, ...children.trim().split(" ").filter((text) => text !== "").map(Number)]) {
    try {
      process.kill(each, "SIGKILL")
    } catch {
      // A process of a session has already ended.
    }
  }
})

/** Returns how to find the members with a role, and to wait until all members have one. */
const observe = (members: ReadonlyArray<Member>) => {
  /** The state of the cluster at the first member that responds. `except` is not asked. */
  const state = (except?: Member) =>
    Effect.reduce(
      members.filter((member) => member !== except),
      (): ReadonlyArray<MemberState> => [],
      (known, member) => known.length > 0 ? Effect.succeed(known) : stateAt(member)
    )
  /** The member that has a role, without asking `except`. */
  const memberAs = (role: Role, except?: Member) =>
    Effect.map(state(except), (all) => {
      const name = all.find((member) => member.role === role)?.name
      return members.find(({ host }) => host.name === name)
    })
  const etcdLeader = Effect.map(
    Effect.forEach(members, isEtcdLeader, { concurrency: "unbounded" }),
    (isLeader) => members[isLeader.indexOf(true)]
  )
  const untilHealthy = Effect.all([
    eventually(Effect.map(state(), rolesOf), (roles) => roles === healthy),
    untilEtcdHealthy(members)
  ], { discard: true })
  return { memberAs, etcdLeader, untilHealthy }
}

/** Starts the cluster with the programs of a Debian folder, in an empty directory and in namespaces that end it. */
export const make = Effect.fnUntraced(function*(root: string, directory: string) {
  yield* Host.network
  yield* Debian.execute("mount", ["-t", "proc", "proc", join(root, "proc")])
  const hosts = ["127.0.0.1 localhost", ...names.map((name, index) => `${addressOf(index)} ${name}`)]
  yield* Effect.promise(() => writeFile(join(root, "etc/hosts"), `${hosts.join("\n")}\n`))
  const passwords = {
    RESTAPI_PASSWORD: newPassword(),
    SUPERUSER_PASSWORD: newPassword(),
    REPLICATION_PASSWORD: newPassword(),
    CRM_PASSWORD: newPassword()
  }
  const members = yield* Effect.forEach(names.keys(), (index) => makeMember(root, directory, index, passwords))
  yield* Effect.forEach(members, ({ etcd }) => etcd.start)
  yield* untilEtcdHealthy(members)
  yield* Effect.forEach(members, ({ patroni }) => patroni.start)
  yield* startHaproxy(root, directory)

  const { etcdLeader, memberAs, untilHealthy } = observe(members)
  yield* untilHealthy
  const first = yield* eventually(memberAs("leader"), (member) => member !== undefined)
  if (first !== undefined) yield* createDatabase(first, passwords.CRM_PASSWORD)
  const url = environmentOf(textOf("service.env", passwords))["DATABASE_URL"] ?? ""
  return { memberAs, etcdLeader, untilHealthy, url }
})

export type PatroniCluster = Effect.Success<ReturnType<typeof make>>
