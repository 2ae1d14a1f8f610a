/** Handwritten histories of single objects, whose calls need an order. */
import type { History } from "../../torture/History.ts"
import { close, create, disable, get, listWebhooks, reopen, see, tag, tags, update } from "./HandwrittenCalls.ts"
import { closed, contact, history, ids, later, open, webhook } from "./HandwrittenHistories.ts"
import { objectAndRequestRules, testVerdicts } from "./Verdicts.ts"

const accepted: Readonly<Record<string, History>> = {
  "an update without a response that is seen later": history([
    create({ from: 0, to: 1 }),
    update("Bonn", { from: 2, to: null }),
    get(null, { from: 3, to: 4 }),
    get("Bonn", { from: 5, to: 6 })
  ], { contacts: [contact({ city: "Bonn" })] }),
  "an update that is repeated until it gets a response": history([
    create({ from: 0, to: 1 }),
    update("Bonn", { from: 2, to: null, key: "a" }),
    update("Bonn", { from: 3, to: 8, key: "a", replays: 1 }),
    update("Köln", { from: 5, to: 6 })
  ], { contacts: [contact({ city: "Köln" })] }),
  "a repeated close that changed something": history([
    see(open(), { from: 0, to: 1 }),
    close(closed(later), { from: 2, to: 3 }),
    reopen({ from: 4, to: 5 }),
    close(closed(later), { from: 6, to: 7, replays: 1 })
  ], { conversations: [open(later)] }),
  "a repeated close that changed nothing": history([
    see(closed(), { from: 0, to: 1 }),
    close(closed(), { from: 2, to: 3 }),
    reopen({ from: 4, to: 5 }),
    close(closed(), { from: 6, to: 7, replays: 1 })
  ], { conversations: [open(later)] }),
  "a close that changed nothing, of which only a repetition got a response": history([
    see(closed(), { from: 0, to: 1 }),
    close(closed(), { from: 2, to: null }),
    reopen({ from: 4, to: 5 }),
    close(closed(), { from: 6, to: 7, replays: 1 })
  ], { conversations: [open(later)] }),
  "a rejected tag whose name differs in case only": history([
    tag("VIP", { from: 0, to: 1 }),
    tag("vip", { from: 2, to: 3, status: 409, error: { code: "conflict", param: "name" } }),
    tags(["VIP"], { from: 4, to: 5 })
  ], { tags: [{ id: `${ids.tag}VIP`, name: "VIP", color: "red" }] }),
  "a message after the last call, which opens the conversation": {
    ...history([close(closed(), { from: 0, to: 1 })], { conversations: [open(later)] }),
    inbound: [{
      organization: 0,
      channel_id: "channel",
      provider_message_id: "inbound",
      from: "+4915112345678",
      text: "Hello",
      started_at: 5,
      acknowledged_at: 6
    }]
  }
}

const reported: Readonly<Record<string, readonly [RegExp, History]>> = {
  "an update that is lost": [
    /^Calls on a contact/,
    history([
      create({ from: 0, to: 1 }),
      update("Bonn", { from: 2, to: 3 })
    ], { contacts: [contact()] })
  ],
  "a contact that is not found after its creation": [
    /^Calls on a contact/,
    history([
      create({ from: 0, to: 1 }),
      get(null, { from: 2, to: 3, status: 404, error: { code: "not_found" } })
    ], { contacts: [contact()] })
  ],
  "a created contact that is not stored at the end": [
    /^Objects in responses are not lost/,
    history([create({ from: 0, to: 1 })], {})
  ],
  "a read that is older than the one before": [
    /^Calls on a contact/,
    history([
      create({ from: 0, to: 1 }),
      update("Bonn", { from: 2, to: 9 }),
      get("Bonn", { from: 3, to: 4 }),
      get(null, { from: 5, to: 6 })
    ], { contacts: [contact({ city: "Bonn" })] })
  ],
  "an update that takes effect twice": [
    /^Calls on a contact/,
    history([
      create({ from: 0, to: 1 }),
      update("Bonn", { from: 2, to: null, key: "a" }),
      update("Bonn", { from: 3, to: 4, key: "a", replays: 1 }),
      update("Köln", { from: 5, to: 6 })
    ], { contacts: [contact({ city: "Bonn" })] })
  ],
  "a close whose repetition is a read": [
    /^Every retry of a request gets the same bytes/,
    history([
      see(open(), { from: 0, to: 1 }),
      close(closed(later), { from: 2, to: 3 }),
      reopen({ from: 4, to: 5 }),
      close(open(later), { from: 6, to: 7, replays: 1 })
    ], { conversations: [open(later)] })
  ],
  "a close that changed nothing, whose repetition is a read": [
    /^Every retry of a request gets the same bytes/,
    history([
      see(closed(), { from: 0, to: 1 }),
      close(closed(), { from: 2, to: 3 }),
      reopen({ from: 4, to: 5 }),
      close(open(later), { from: 6, to: 7, replays: 1 })
    ], { conversations: [open(later)] })
  ],
  "an open conversation that no call reopened": [
    /^Calls on a conversation/,
    history([
      see(open(), { from: 0, to: 1 }),
      close(closed(later), { from: 2, to: 3 })
    ], { conversations: [open()] })
  ],
  "two tags with one name": [
    /^Calls on a set of tags/,
    history([
      tag("VIP", { from: 0, to: 1 }),
      tag("vip", { from: 2, to: 3 })
    ], {
      tags: ["VIP", "vip"].map((name) => ({ id: `${ids.tag}${name}`, name, color: "red" }))
    })
  ],
  "a list without a tag": [
    /^Calls on a set of tags/,
    history([
      tag("VIP", { from: 0, to: 1 }),
      tags([], { from: 2, to: 3 })
    ], { tags: [{ id: `${ids.tag}VIP`, name: "VIP", color: "red" }] })
  ],
  "a disabled webhook that is active again": [
    /^Calls on a webhook/,
    history([
      disable({ from: 0, to: 1 }),
      listWebhooks([webhook()], { from: 2, to: 3 })
    ], { webhooks: [webhook({ status: "disabled" })] })
  ]
}

testVerdicts("the checker of single objects", objectAndRequestRules, accepted, reported)
