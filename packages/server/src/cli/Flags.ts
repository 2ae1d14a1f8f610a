/** Parts of flags that several commands share. Help names each default, because it comes from here. */
import { isWebUrl } from "@messaging-crm/core/Text"
import type { Schema } from "effect"
import { Flag } from "effect/cli"
import type { Setting } from "../settings/Settings.ts"

/** Gives a flag a default, which its help names. */
export const withDefault = <const A>(value: A, description: string) => <B>(flag: Flag.Flag<B>): Flag.Flag<A | B> =>
  flag.pipe(Flag.withDefault(value), Flag.withDescription(`${description} (default: ${value})`))

/** Makes a flag optional. Its help shows `defaultText`. */
export const optional = (description: string, defaultText: string) => <A>(flag: Flag.Flag<A>) =>
  flag.pipe(Flag.optional, Flag.withDescription(`${description} (default: ${defaultText})`))

/** Lets a flag be given any number of times. */
export const repeated = (description: string, defaultText: string) => <A>(flag: Flag.Flag<A>) =>
  flag.pipe(
    Flag.atLeast(0),
    Flag.withDefault<ReadonlyArray<A>>([]),
    Flag.withDescription(`${description}; repeatable (default: ${defaultText})`)
  )

/** A flag that overrides a setting. */
export const forSetting = (name: string, { default_text, description, name: variable }: Setting<unknown>) =>
  Flag.String(name).pipe(
    Flag.optional,
    Flag.withDescription(`${description}; overrides ${variable} (default: ${default_text})`)
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
