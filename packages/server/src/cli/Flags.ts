/** Parts of flags that several commands share. Help names each default, because it comes from here. */
import { isWebUrl } from "@messaging-crm/core/Text"
import type { Schema } from "effect"
import { Flag } from "effect/cli"
import type { Setting } from "../settings/Settings.ts"

/** Gives a flag a default, which its help names. */
export const withDefault = <const A>(value: A, description: string) => <B>(flag: Flag.Flag<B>): Flag.Flag<A | B> =>
  flag.pipe(Flag.withDefault(value), Flag.withDescription(`${description} (default: ${value})`))

/** Makes a flag optional, and says in its help what happens without it. */
export const optional = (description: string, otherwise: string) => <A>(flag: Flag.Flag<A>) =>
  flag.pipe(Flag.optional, Flag.withDescription(`${description} (default: ${otherwise})`))

/** Lets a flag be given any number of times. */
export const repeated = (description: string, otherwise: string) => <A>(flag: Flag.Flag<A>) =>
  flag.pipe(
    Flag.atLeast(0),
    Flag.withDefault<ReadonlyArray<A>>([]),
    Flag.withDescription(`${description}; repeatable (default: ${otherwise})`)
  )

/** A flag that overrides a setting. */
export const forSetting = (name: string, { meaning, name: variable, otherwise }: Setting<unknown>) =>
  Flag.String(name).pipe(
    Flag.optional,
    Flag.withDescription(`${meaning}; overrides ${variable} (default: ${otherwise})`)
  )

/** A flag that takes the ID of a resource. */
export const id = <A>(name: string, schema: Schema.Codec<A, string>, description: string) =>
  Flag.String(name).pipe(Flag.withSchema(schema), Flag.withDescription(description))

/** A flag that takes a whole number between two bounds. */
export const integer = (name: string, min: number, max: number) =>
  Flag.Int(name).pipe(
    Flag.filter((value) => value >= min && value <= max, () => `Expected a whole number from ${min} to ${max}`)
  )

/** A flag that takes an http or https URL. */
export const webUrl = (name: string) =>
  Flag.String(name).pipe(Flag.filter(isWebUrl, () => "Expected an absolute http or https URL"))
