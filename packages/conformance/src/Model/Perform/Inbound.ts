/** The commands of the model test in which a network reports something. */
import { ChannelId, SendId } from "@messaging-crm/core/Ids"
import { Inbound } from "@messaging-crm/core/Inbound"
import { DateTime, Effect } from "effect"
import { agree, agreeOnLists } from "../Agreement.ts"
import { choose, notTheirs, secondsAgo, unknownId } from "../Choices.ts"
import type { CommandHandlers } from "../CommandHandlers.ts"
import * as Conversations from "../Conversations.ts"
import * as Messages from "../Messages.ts"
import { ok, rejected } from "../Results.ts"
import * as Sends from "../Sends.ts"
import type { Organization } from "../State.ts"

/** A time that is more than a day in the future counts as now. */
const clamped = ({ now }: Organization, at: DateTime.Utc) =>
  DateTime.isGreaterThan(at, DateTime.add(now, { days: 1 })) ? now : at

const reportStatus: CommandHandlers["reportStatus"] = (
  scene,
  { code, id: choice, seconds_ago, status, through, with_reference }
) =>
  Effect.gen(function*() {
    const { id, row } = choose(scene, notTheirs(choice), ({ sends }) => sends)
    const other = scene.theirs.channels[0]?.id ?? ChannelId.make(unknownId)
    const own = row?.conversation.channel.id ?? scene.ours.channels[0]?.id ?? other
    const channel_id = through === "ours" ? own : through === "theirs" ? other : ChannelId.make(unknownId)
    const at = secondsAgo(scene, seconds_ago)
    const reference = with_reference ? SendId.make(id) : null
    const provider_message_id = `p.${id}`
    const event = "message_status_reported"
    const report = { status, at: clamped(scene.ours, at), code }
    const failure = code === null || status !== "failed"
      ? {}
      : { failure: { code, title: "Rejected", description: null } }
    if (through === "ours") Sends.applyStatus(scene.ours, row, report, with_reference)
    yield* agree(
      scene,
      through === "unknown" ? rejected("ChannelUnknown") : ok(undefined),
      Inbound.use(({ receive }) =>
        receive({ event, channel_id, provider_message_id, reference, status, at, ...failure })
      )
    )
    yield* agreeOnLists(scene, row === undefined ? [] : [row.conversation])
  })

const receive: CommandHandlers["receive"] = (
  scene,
  { channel, content, display_name, from, is_written_by_person, provider_message_id, quoted, seconds_ago }
) =>
  Effect.gen(function*() {
    const { id, row } = choose(scene, notTheirs(channel), ({ channels }) => channels)
    const sent_at = secondsAgo(scene, seconds_ago)
    const fields = {
      type: content === null ? "image" as const : "text" as const,
      text: content,
      details: quoted === null ? null : { quoted: { provider_message_id: quoted, from: null } },
      provider_message_id,
      sent_at
    }
    const expected = Messages.receive(scene.ours, row, {
      from,
      display_name,
      is_written_by_person,
      ...fields,
      sent_at: clamped(scene.ours, sent_at)
    })
    const sender = { external_id: from, display_name, username: null }
    const event = {
      event: "message_received" as const,
      channel_id: ChannelId.make(id),
      from: sender,
      is_written_by_person,
      media: null,
      ...fields
    }
    yield* agree(scene, expected, Inbound.use(({ receive }) => receive(event)))
    yield* agreeOnLists(scene, scene.ours.messages.slice(-1).map(({ conversation }) => conversation))
  })

const sendByApp: CommandHandlers["sendByApp"] = (
  scene,
  { channel, content: text, provider_message_id, seconds_ago, to }
) =>
  Effect.gen(function*() {
    const { id, row } = choose(scene, notTheirs(channel), ({ channels }) => channels)
    const sent_at = secondsAgo(scene, seconds_ago)
    const fields = { type: "text" as const, text, details: null, provider_message_id }
    const inbound = { from: to, display_name: null, ...fields, sent_at: clamped(scene.ours, sent_at) }
    const expected = Messages.sendByApp(scene.ours, row, inbound)
    const event = {
      event: "message_sent" as const,
      channel_id: ChannelId.make(id),
      to: { external_id: to, display_name: null, username: null },
      media: null,
      ...fields,
      sent_at
    }
    yield* agree(scene, expected, Inbound.use(({ receive }) => receive(event)))
    yield* agreeOnLists(scene, scene.ours.messages.slice(-1).map(({ conversation }) => conversation))
  })

const reportAll: CommandHandlers["reportAll"] = (
  scene,
  { channel, seconds_ago, status, to: external_id, until_seconds_ago }
) =>
  Effect.gen(function*() {
    const { id, row } = choose(scene, notTheirs(channel), ({ channels }) => channels)
    const at = secondsAgo(scene, seconds_ago)
    const until = secondsAgo(scene, until_seconds_ago)
    const report = { status, at: clamped(scene.ours, at), code: null }
    const expected = Messages.reportAll(scene.ours, row, external_id, report, until)
    const event = {
      event: "messages_reported" as const,
      channel_id: ChannelId.make(id),
      external_id,
      status,
      until,
      at
    }
    yield* agree(scene, expected, Inbound.use(({ receive }) => receive(event)))
    yield* agreeOnLists(scene, scene.ours.conversations)
  })

const revise: CommandHandlers["revise"] = (
  scene,
  { channel, index, message, provider_message_id, seconds_ago, status, text }
) =>
  Effect.gen(function*() {
    const early = choose(scene, notTheirs(channel), ({ channels }) => channels)
    const stored = message === "early" ? undefined : Messages.providerIds(scene.ours).at(-1 - index)
    const { id, provider_id, row } = stored === undefined
      ? { ...early, provider_id: provider_message_id }
      : { id: stored.channel.id, provider_id: stored.provider_message_id, row: stored.channel }
    const target = { channel_id: ChannelId.make(id), provider_message_id: provider_id }
    const at = secondsAgo(scene, seconds_ago)
    const revised_at = clamped(scene.ours, at)
    const revision = status === "edited" ? { status, text, at: revised_at } : { status, at: revised_at }
    const event = status === "edited"
      ? { event: "message_edited" as const, ...target, text, at }
      : { event: "message_deleted" as const, ...target, at }
    const expected = Messages.revise(scene.ours, row, provider_id, revision)
    yield* agree(scene, expected, Inbound.use(({ receive }) => receive(event)))
    yield* agreeOnLists(scene, scene.ours.conversations)
  })

const changeIdentity: CommandHandlers["changeIdentity"] = (scene, { channel, display_name, external_id, former }) =>
  Effect.gen(function*() {
    const { id, row } = choose(scene, notTheirs(channel), ({ channels }) => channels)
    const now = { external_id, display_name }
    const expected = Conversations.changeIdentity(scene.ours, row, former, now)
    const event = {
      event: "identity_changed" as const,
      channel_id: ChannelId.make(id),
      former_external_id: former,
      now: { ...now, username: null }
    }
    yield* agree(scene, expected, Inbound.use(({ receive }) => receive(event)))
    yield* agreeOnLists(scene, [])
  })

const prefer: CommandHandlers["prefer"] = (scene, { channel, from: external_id, preference, seconds_ago }) =>
  Effect.gen(function*() {
    const { id, row } = choose(scene, notTheirs(channel), ({ channels }) => channels)
    const at = secondsAgo(scene, seconds_ago)
    const expected = Conversations.prefer(scene.ours, row, external_id, { preference, at: clamped(scene.ours, at) })
    const event = {
      event: "marketing_preference_reported" as const,
      channel_id: ChannelId.make(id),
      person: { external_id, display_name: null, username: null },
      preference,
      at
    }
    yield* agree(scene, expected, Inbound.use(({ receive }) => receive(event)))
    yield* agreeOnLists(scene, [])
  })

export const inboundHandlers = {
  reportStatus,
  receive,
  sendByApp,
  reportAll,
  revise,
  changeIdentity,
  prefer
} satisfies Partial<CommandHandlers>
