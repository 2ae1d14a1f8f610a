/** The faults of the failover drill. */
import { Effect } from "effect"
import { killPostgres, type Member, type PatroniCluster, type Role } from "./PatroniCluster.ts"

export const kinds = ["primary", "agent", "etcd", "network", "standby"] as const

export type FaultKind = (typeof kinds)[number]

/** A fault that has begun. */
export interface Fault {
  readonly host: string
  /** Whether another member has taken over the role. */
  readonly isTakenOver: Effect.Effect<boolean>
  readonly end: Effect.Effect<void>
}

/** Dies unless a role has a member. */
const found = (role: string) => (member: Member | undefined) =>
  member === undefined ? Effect.die(new Error(`The cluster has no ${role}.`)) : Effect.succeed(member)

type Change = (member: Member) => Effect.Effect<void>

/** Injects a fault into the member that has a role. */
const onRole = (role: Role, begin: Change, end: Change) =>
  Effect.fnUntraced(function*({ memberAs }: PatroniCluster) {
    const member = yield* Effect.flatMap(memberAs(role), found(role))
    yield* begin(member)
    return {
      host: member.host.name,
      isTakenOver: Effect.map(memberAs(role, member), (other) => other !== undefined && other !== member),
      end: end(member)
    } satisfies Fault
  })

const disconnect: Change = ({ host }) => host.setConnected(false)
const reconnect: Change = ({ host }) => host.setConnected(true)

const onEtcdLeader = Effect.fnUntraced(function*({ etcdLeader }: PatroniCluster) {
  const member = yield* Effect.flatMap(etcdLeader, found("leader of etcd"))
  yield* member.etcd.kill
  return {
    host: member.host.name,
    isTakenOver: Effect.map(etcdLeader, (other) => other !== undefined && other !== member),
    end: member.etcd.start
  } satisfies Fault
})

/** Injects a fault of a kind. */
export const faults: Readonly<Record<FaultKind, (cluster: PatroniCluster) => Effect.Effect<Fault>>> = {
  /** Kills PostgreSQL of the primary, but not its Patroni. */
  primary: onRole("leader", killPostgres, () => Effect.void),
  /** Kills Patroni of the primary, whose PostgreSQL continues without it. */
  agent: onRole("leader", ({ patroni }) => patroni.kill, ({ patroni }) => patroni.start),
  /** Kills the leader of etcd. */
  etcd: onEtcdLeader,
  /** Cuts the primary off from the other hosts and from the service. */
  network: onRole("leader", disconnect, reconnect),
  /** Cuts the synchronous standby off. */
  standby: onRole("sync_standby", disconnect, reconnect)
}
