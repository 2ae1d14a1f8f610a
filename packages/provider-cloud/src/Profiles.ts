/**
 * Profiles: looks up the names of people on Messenger and Instagram, whose callbacks contain IDs only.
 *
 * A lookup runs in the background, after the message is stored. Each person is looked up once a day per process. A
 * lookup that fails is repeated twice, and again with the person's next message.
 */
import { limits } from "@messaging-crm/core/Limits"
import { firstCharacters } from "@messaging-crm/core/Text"
import { Turns } from "@messaging-crm/core/Turns"
import { Clock, Context, Duration, Effect, Layer, Option, Schedule, Schema } from "effect"
import { HttpClient, HttpClientRequest } from "effect/http"
import { accountKeyOf, type CloudAccount } from "./CloudAccounts.ts"
import { CloudSettings } from "./CloudSettings.ts"
import { baseUrlOf, call, type CallError, ResponseLost } from "./GraphClient.ts"
import { lenient, StorableText } from "./GraphSchemas.ts"

export interface Names {
  readonly display_name: string | null
  readonly username: string | null
}

const Profile = Schema.Struct({
  name: lenient(StorableText),
  first_name: lenient(StorableText),
  last_name: lenient(StorableText),
  username: lenient(StorableText)
})
const decodeProfile = Schema.decodeUnknownOption(Profile)

/** The fields that each network has. */
const fields = { page_messaging: "name,first_name,last_name", photo_social: "name,username" } as const

/** For how many people a process records when they were looked up. */
const recorded_people_max = 10_000
/** How long a person is not looked up again. */
const lookup_interval = Duration.days(1)
/** How many lookups run, or wait to run or to be repeated. One account has at most half of them. */
const in_progress_max = 1000
/** How many lookups run at once, of which one account has at most half. */
const at_once_max = 4
const look_up_time_max = Duration.seconds(10)
/** The pauses before a lookup is repeated: one minute, then five. */
const pauses = Schedule.exponential(Duration.minutes(1), 5)

const nameFrom = (text: string | undefined): string | null =>
  firstCharacters(text ?? "", limits.name_chars_max).trim() || null

const namesOf = (response: unknown): Names => {
  const { first_name, last_name, name, username } = Option.getOrElse(
    decodeProfile(response),
    (): typeof Profile.Type => ({})
  )
  return {
    display_name: nameFrom(name) ?? nameFrom([first_name, last_name].filter((part) => part !== undefined).join(" ")),
    username: nameFrom(username)
  }
}

/** Returns whether a failed lookup may succeed later. A person can hide their profile from the business. */
const isTransient = (error: CallError): boolean =>
  error._tag !== "Rejected" || error.reported.is_transient || error.reported.status >= 500 ||
  error.reported.status === 429

/** Service that looks up names: a reference, because it is optional. Without its layer it does nothing. */
export const Profiles = Context.Reference<{
  /** Begins to look a person up, unless they have been, and passes on the names found. Returns at once. */
  readonly lookUp: (
    account: CloudAccount,
    person_id: string,
    onFound: (names: Names) => Effect.Effect<void>
  ) => Effect.Effect<void>
}>("@messaging-crm/provider-cloud/Profiles", { defaultValue: () => ({ lookUp: () => Effect.void }) })

/** Requests the fields of a person that have names. */
const requestProfile = (
  client: HttpClient.HttpClient,
  settings: CloudSettings,
  account: Exclude<CloudAccount, { type: "phone_messaging" }>,
  person_id: string
) =>
  call(
    client,
    account,
    HttpClientRequest.get(`${baseUrlOf(settings, account)}/${encodeURIComponent(person_id)}`, {
      urlParams: { fields: fields[account.type] }
    })
  ).pipe(
    Effect.timeoutOrElse({ duration: look_up_time_max, orElse: () => Effect.fail(new ResponseLost()) })
  )

/** Makes the record of when each person may be looked up again. */
const makeRecord = () => {
  /** In the order of the lookups. */
  const retryAt = new Map<string, number>()
  return {
    /** Records a lookup of the person, and returns true, unless it is too early. */
    begin: (key: string, now: number): boolean => {
      if ((retryAt.get(key) ?? 0) > now) return false
      retryAt.delete(key)
      retryAt.set(key, now + Duration.toMillis(lookup_interval))
      const [oldest] = retryAt.keys()
      if (retryAt.size > recorded_people_max && oldest !== undefined) retryAt.delete(oldest)
      return true
    },
    /** Lets the person be looked up again at once. */
    forget: (key: string) => Effect.sync(() => retryAt.delete(key))
  }
}

/** Layer that looks names up over the Graph API, with the token of the account. */
export const layer: Layer.Layer<never, never, HttpClient.HttpClient> = Layer.effect(
  Profiles,
  Effect.gen(function*() {
    const client = yield* HttpClient.HttpClient
    const settings = yield* CloudSettings
    const scope = yield* Effect.scope
    const inProgress = new Turns<string>({ places: in_progress_max, share: "half" })
    const running = new Turns<string>({ places: at_once_max, share: "half" })
    const { begin, forget } = makeRecord()

    const run = (
      key: string,
      profile: Effect.Effect<unknown, CallError>,
      onFound: (names: Names) => Effect.Effect<void>
    ) =>
      profile.pipe(
        Effect.retry({ schedule: pauses, times: 2, while: isTransient }),
        Effect.map(namesOf),
        Effect.flatMap((names) =>
          names.display_name === null && names.username === null ? Effect.void : onFound(names)
        ),
        Effect.catch((error) => isTransient(error) ? forget(key) : Effect.void),
        Effect.catchDefect((defect) => Effect.andThen(forget(key), Effect.logWarning("Profile lookup failed", defect))),
        // The path names a person.
        Effect.withTracerEnabled(false)
      )

    const lookUp = Effect.fnUntraced(function*(
      account: CloudAccount,
      person_id: string,
      onFound: (names: Names) => Effect.Effect<void>
    ) {
      if (account.type === "phone_messaging") return
      const { id, type } = accountKeyOf(account)
      const [turn, key] = [JSON.stringify([type, id]), JSON.stringify([type, id, person_id])]
      if (!begin(key, yield* Clock.currentTimeMillis)) return
      const profile = running.run(turn, requestProfile(client, settings, account, person_id))
      const looked = inProgress.runWithin(turn, Duration.zero, run(key, profile, onFound))
      yield* Effect.forkIn(Effect.tap(looked, (done) => Option.isNone(done) ? forget(key) : Effect.void), scope)
    })

    return { lookUp }
  })
)
