/**
 * One attack, in a separate process until it is killed: `node attackerProcess.ts NAME URL KEY LINK`.
 *
 * It connects to 127.0.0.1 only. Prints a line when it has started: the URL of its endpoints, if it has any. Then it prints
 * its effects every half second, as JSON: the number of responses by status, of connected sockets, and of received events.
 */
import * as Arguments from "../harness/Arguments.ts"
import * as AllowedAttacks from "./AllowedAttacks.ts"
import * as Attacks from "./Attacks.ts"
import * as RequestAttacks from "./RequestAttacks.ts"
import * as SocketAttacks from "./SocketAttacks.ts"
import * as Target from "./Target.ts"

/** Starts each attack. The result is the URL of its endpoints, if it has any. */
const attacks: Readonly<Record<Attacks.Attack, (target: Target.Target) => Promise<string | void> | void>> = {
  "unsigned posts": RequestAttacks.postUnsigned,
  "invalid signatures": RequestAttacks.postInvalidSignatures,
  "upgraded sockets": SocketAttacks.upgradeSockets,
  "slow readers": SocketAttacks.readSlowly,
  "abandoned pages": SocketAttacks.abandonPages,
  "slow writers": SocketAttacks.writeSlowly,
  "pipelined pages": SocketAttacks.pipelinePages,
  "pipelined probes": SocketAttacks.pipelineProbes,
  "pipelined unknown keys": SocketAttacks.pipelineUnknownKeys,
  "expensive searches": RequestAttacks.searchExpensively,
  "hostile endpoints": SocketAttacks.serveHostileEndpoints,
  "worst keys": RequestAttacks.sendWorstKeys,
  "stalled bodies": SocketAttacks.stallBodies,
  "trickled bodies": SocketAttacks.trickleBodies,
  "long contacts": AllowedAttacks.listLongContacts,
  "many webhooks": AllowedAttacks.upsertForManyWebhooks,
  "wide upserts": AllowedAttacks.upsertWidely,
  "long events": AllowedAttacks.raiseLongEvents,
  "replays": AllowedAttacks.replayLongEvents,
  "long lists": AllowedAttacks.listLongTexts
}

const [, , name = "", url = "http://127.0.0.1:1", key = "", link = "/"] = process.argv
const target = Target.make(url, key, link)

for (const attack of Arguments.select("The attack", Attacks.names, [name])) {
  console.log(await attacks[attack](target) ?? "started")
}

setInterval(() => console.log(JSON.stringify(target.effects)), 500)
