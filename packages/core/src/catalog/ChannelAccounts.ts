/**
 * Channel accounts: the IDs of each channel at its network, and its token there.
 *
 * A token is a secret at rest: it is encrypted under the newest root key, bound to
 * its organization and channel, and leaves this module only redacted.
 */
import { Context, Effect, Layer, Option, Redacted, Result } from "effect"
import { CurrentActor } from "../kernel/Actor.ts"
import { concurrently } from "../kernel/Concurrency.ts"
import { ChannelId, Ids, type OrganizationId } from "../kernel/Ids.ts"
import { resealAll, type SealedSecrets } from "../kernel/Resealing.ts"
import { makeOpenOnce, Secrets, SecretUnreadable } from "../kernel/Secrets.ts"
import * as Changes from "../work/Changes.ts"
import { type ConcurrentChanges, Decide, type DecisionContext } from "../work/Decide.ts"
import { pickFields, type Row, Rows } from "../work/Rows.ts"
import {
  type AccountIds,
  AccountTaken,
  AccountUnknown,
  ChannelAccount,
  type ChannelAccountColumns,
  ChannelAccountRows,
  ChannelNotFound,
  type ChannelToken,
  type OpenedAccount,
  type OwnedAccount
} from "./ChannelAccount.ts"
import { ChannelHoldRows } from "./ChannelHolds.ts"
import {
  type BusinessAccountMismatch,
  type Channel,
  type ChannelAddressTaken,
  ChannelRows,
  type ChannelType,
  connect,
  type ConnectChannel
} from "./Channels.ts"

export * from "./ChannelAccount.ts"

// ----------------------------------------------------------- decisions

/** Returns the encryption context of a channel's token, so that the ciphertext cannot be decrypted for another channel. */
const tokenContext = (organization_id: OrganizationId, id: ChannelId): string =>
  `channel-token|${organization_id}|${id}`

const toAccount = pickFields(ChannelAccount)

const columnsOf = (
  { id, phone_messaging_business_account_id, type }: Channel,
  account_ids: AccountIds,
  sealed_token: string,
  { now }: Pick<DecisionContext, "now">
): ChannelAccountColumns => ({
  channel_id: id,
  channel_type: type,
  ...account_ids,
  business_account_id: phone_messaging_business_account_id,
  token_set_at: now,
  sealed_token
})

/** Connects a channel together with its account. */
const connectAccount = (
  { others, taker }: {
    readonly others: ReadonlyArray<Channel>
    readonly taker: Option.Option<OwnedAccount>
  },
  id: ChannelId,
  input: ConnectChannel,
  account: { readonly account_ids: AccountIds; readonly sealed_token: string },
  context: DecisionContext
): Result.Result<Changes.Decision<Channel>, ChannelAddressTaken | BusinessAccountMismatch | AccountTaken> =>
  Result.flatMap(connect(others, id, input, context), ({ changes, result }) => {
    if (Option.isSome(taker)) return Result.fail(new AccountTaken())
    const { account_ids, sealed_token } = account
    const inserted = ChannelAccountRows.insert(columnsOf(result, account_ids, sealed_token, context))
    return Result.succeed({ result, changes: Changes.all(changes, inserted) })
  })

const isOther = (taker: Option.Option<OwnedAccount>, id: ChannelId): boolean =>
  Option.isSome(taker) && taker.value.row.channel_id !== id

/**
 * Sets the token of a channel, and its account's IDs if they are given, and resumes it.
 *
 * A channel without an account gets one.
 */
const setToken = (
  { account, channel, taker }: {
    readonly channel: Option.Option<Channel>
    readonly account: Option.Option<Row<ChannelAccountColumns>>
    readonly taker: Option.Option<OwnedAccount>
  },
  account_ids: Option.Option<AccountIds>,
  sealed_token: string,
  { now }: Pick<DecisionContext, "now">
): Result.Result<Changes.Decision<void>, ChannelNotFound | AccountTaken | AccountUnknown> => {
  if (Option.isNone(channel)) return Result.fail(new ChannelNotFound())
  if (isOther(taker, channel.value.id)) return Result.fail(new AccountTaken())
  const set = { ...Option.getOrElse(account_ids, () => ({})), sealed_token, token_set_at: now }
  const written = Option.isSome(account)
    ? Option.some(ChannelAccountRows.update(account.value, set))
    : Option.map(
      account_ids,
      (given) => ChannelAccountRows.insert(columnsOf(channel.value, given, sealed_token, { now }))
    )
  if (Option.isNone(written)) return Result.fail(new AccountUnknown())
  const resumed = ChannelHoldRows.remove({ channel_id: channel.value.id })
  return Result.succeed({ result: undefined, changes: Changes.all(written.value, resumed) })
}

// ---------------------------------------------------------------- port

/**
 * Port: finds accounts of channels by the network's IDs, and replaces their encrypted tokens.
 *
 * **Contract** (checked by `conformance/Ports/ChannelAccounts.ts`)
 *
 * - `locateByAccount` and `locateByBusinessAccount` return an account of any organization;
 *   the latter returns the account whose token was set most recently.
 * - `sealedOtherwise` and `reseal` are as for secrets of webhooks; the ID is the channel's.
 */
export class ChannelAccountStore extends Context.Service<
  ChannelAccountStore,
  SealedSecrets<ChannelId> & {
    readonly locateByAccount: (
      type: ChannelType,
      account_id: string
    ) => Effect.Effect<Option.Option<OwnedAccount>>
    readonly locateByBusinessAccount: (id: string) => Effect.Effect<Option.Option<OwnedAccount>>
  }
>()("@messaging-crm/core/ChannelAccounts/ChannelAccountStore") {}

// ---------------------------------------------------------- operations

const makeSeal = Effect.map(
  Secrets,
  ({ seal }) => (organization_id: OrganizationId, id: ChannelId, token: ChannelToken) =>
    seal(tokenContext(organization_id, id), Redacted.value(token))
)

const makeConnect = Effect.gen(function*() {
  const rows = yield* Rows
  const { write } = yield* Decide
  const ids = yield* Ids
  const seal = yield* makeSeal
  const store = yield* ChannelAccountStore

  return write("channels.connect", function*(input: ConnectChannel, account_ids: AccountIds, token: ChannelToken) {
    const { organization_id } = yield* CurrentActor
    const id = ChannelId.make(ids.next())
    const sealed_token = yield* seal(organization_id, id, token)
    return {
      load: Effect.all({
        others: rows.list(ChannelRows, organization_id),
        taker: store.locateByAccount(input.type, account_ids.account_id)
      }, concurrently),
      decide: (loaded, context) => connectAccount(loaded, id, input, { account_ids, sealed_token }, context)
    }
  })
})

const makeSetToken = Effect.gen(function*() {
  const rows = yield* Rows
  const { write } = yield* Decide
  const seal = yield* makeSeal
  const store = yield* ChannelAccountStore

  const load = Effect.fnUntraced(function*(
    organization_id: OrganizationId,
    channel_id: ChannelId,
    account_ids: Option.Option<AccountIds>
  ) {
    const found = yield* Effect.all({
      channel: rows.find(ChannelRows, organization_id, channel_id),
      account: rows.find(ChannelAccountRows, organization_id, channel_id)
    }, concurrently)
    const taker = Option.isSome(found.channel) && Option.isSome(account_ids)
      ? yield* store.locateByAccount(found.channel.value.type, account_ids.value.account_id)
      : Option.none()
    return { ...found, taker }
  })

  return write(
    "channels.set_token",
    function*(channel_id: ChannelId, token: ChannelToken, account_ids: Option.Option<AccountIds>) {
      const { organization_id } = yield* CurrentActor
      const sealed_token = yield* seal(organization_id, channel_id, token)
      return {
        load: load(organization_id, channel_id, account_ids),
        decide: (loaded, context) =>
          Result.map(
            setToken(loaded, account_ids, sealed_token, context),
            ({ changes }) => ({ result: { id: channel_id }, changes })
          )
      }
    }
  )
})

/** Makes the function that decrypts the token of an account that was found. */
const makeOpenFound = Effect.map(
  makeOpenOnce,
  (openOnce) =>
    Effect.fnUntraced(function*(found: Option.Option<OwnedAccount>) {
      if (Option.isNone(found)) return Option.none()
      const { organization_id, row } = found.value
      const account = toAccount(row)
      const token = yield* openOnce(tokenContext(organization_id, account.channel_id), row.sealed_token)
      if (Option.isSome(token)) return Option.some<OpenedAccount>({ ...account, token: token.value })
      yield* Effect.logError(
        "No key in SECRET_KEY (RootKeys if the core is embedded) decrypts the token of a channel. Restore the key, or set the token again with `channels set-token`."
      ).pipe(Effect.annotateLogs({ channel_id: account.channel_id }))
      return yield* new SecretUnreadable()
    })
)

/**
 * Operations on accounts. Those that write use the current actor's organization; those for providers read the accounts of
 * any organization.
 */
export class ChannelAccounts extends Context.Service<ChannelAccounts, {
  /** Connects a channel together with its account. */
  readonly connect: (input: ConnectChannel, account_ids: AccountIds, token: ChannelToken) => Effect.Effect<
    Channel,
    ChannelAddressTaken | BusinessAccountMismatch | AccountTaken | ConcurrentChanges,
    CurrentActor
  >
  /**
   * Replaces the token of a channel, and its account's IDs if they are given. A channel
   * without an account requires them. A paused channel is resumed.
   */
  readonly setToken: (
    channel_id: ChannelId,
    token: ChannelToken,
    account_ids: Option.Option<AccountIds>
  ) => Effect.Effect<void, ChannelNotFound | AccountTaken | AccountUnknown | ConcurrentChanges, CurrentActor>
  /** Returns the account of a channel without its token, if it has one. */
  readonly find: (channel_id: ChannelId) => Effect.Effect<Option.Option<ChannelAccount>>
  /** Returns the account of a channel, if it has one. `SecretUnreadable` if no root key decrypts its token. */
  readonly open: (channel_id: ChannelId) => Effect.Effect<Option.Option<OpenedAccount>, SecretUnreadable>
  readonly openByAccount: (
    type: ChannelType,
    account_id: string
  ) => Effect.Effect<Option.Option<OpenedAccount>, SecretUnreadable>
  readonly openByBusinessAccount: (id: string) => Effect.Effect<Option.Option<OpenedAccount>, SecretUnreadable>
  /** Returns the channel of an account of an app, without its token. */
  readonly channelOf: (
    type: ChannelType,
    account_ids: Pick<AccountIds, "account_id" | "app_id">
  ) => Effect.Effect<Option.Option<ChannelId>>
  /** Re-encrypts the tokens that an older root key encrypted, and returns their number. */
  readonly reseal: Effect.Effect<number>
}>()("@messaging-crm/core/ChannelAccounts") {
  static readonly layer = Layer.effect(
    ChannelAccounts,
    Effect.gen(function*() {
      const openFound = yield* makeOpenFound
      const setTokenOf = yield* makeSetToken
      const rows = yield* Rows
      const secrets = yield* Secrets
      const store = yield* ChannelAccountStore

      return ChannelAccounts.of({
        connect: yield* makeConnect,
        setToken: (...input) => Effect.asVoid(setTokenOf(...input)),
        find: (channel_id) =>
          Effect.map(rows.locate(ChannelAccountRows, channel_id), Option.map(({ row }) => toAccount(row))),
        open: (channel_id) => Effect.flatMap(rows.locate(ChannelAccountRows, channel_id), openFound),
        openByAccount: (type, account_id) => Effect.flatMap(store.locateByAccount(type, account_id), openFound),
        openByBusinessAccount: (id) => Effect.flatMap(store.locateByBusinessAccount(id), openFound),
        channelOf: (type, { account_id, app_id }) =>
          Effect.map(
            store.locateByAccount(type, account_id),
            (found) =>
              Option.filter(found, ({ row }) => row.app_id === app_id).pipe(
                Option.map(({ row }) => row.channel_id)
              )
          ),
        reseal: resealAll(secrets, store, tokenContext)
      })
    })
  )
}
