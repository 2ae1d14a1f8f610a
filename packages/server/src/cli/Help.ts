/** The texts of the command line itself: its help, and its errors as sentences. */
import { Cause, Layer, Option } from "effect"
import { type CliError, CliOutput, type HelpDoc } from "effect/cli"
import { note } from "./Print.ts"

const plain = CliOutput.defaultFormatter({ globalFlags: "summary" })

/** Marks a required flag in its description. */
export const marked = (flag: HelpDoc.FlagDoc): HelpDoc.FlagDoc =>
  flag.required ? { ...flag, description: Option.map(flag.description, (text) => `${text} (required)`) } : flag

const suggested = (suggestions: ReadonlyArray<string>) =>
  suggestions.length === 0 ? "" : ` Did you mean ${suggestions.join(" or ")}?`

/** Returns what a value must be, from the words of the command line or of a schema. */
const expectation = (expected: string): string =>
  expected.replace(/^Schema validation failed: /, "").replace(/^Expected:? /, "").replace(
    /^an? integer.*$/,
    "a whole number"
  )

/** Returns the sentence for an error in the arguments of a command. */
export const sentence = (error: CliError.CliError): string => {
  switch (error._tag) {
    case "UnrecognizedOption":
      return `Unknown flag: ${error.option}.${suggested(error.suggestions)}`
    case "MissingOption":
      return `--${error.option} is required.`
    case "MissingArgument":
      return `<${error.argument}> is required.`
    case "UnexpectedArgument":
      return `Unexpected argument: ${error.arguments.join(" ")}. Remove it, or quote values that contain spaces.`
    case "UnknownSubcommand":
      return `Unknown command: ${error.subcommand}.${suggested(error.suggestions)}`
    case "InvalidValue": {
      const name = error.kind === "argument" ? `<${error.option}>` : `--${error.option}`
      return `${name} must be ${expectation(error.expected)}, not "${error.value}".`
    }
    default:
      return error.message
  }
}

const formatter: CliOutput.Formatter = {
  ...plain,
  formatHelpDoc: (doc) => plain.formatHelpDoc({ ...doc, flags: doc.flags.map(marked) }),
  formatCliError: sentence,
  formatError: (error) => `\n${sentence(error)}`,
  formatErrors: (errors) => errors.length === 0 ? "" : `\n${errors.map(sentence).join("\n")}`
}

const presenter: CliOutput.Presenter = {
  present: (event) => {
    if (event._tag !== "InvalidInvocation") return CliOutput.defaultPresenter.present(event)
    // It goes to stderr, so that stdout stays empty. The help would hide the errors.
    const command = event.commandPath.join(" ")
    return note([...event.errors.map(sentence), `See ${command} --help.`].join("\n"))
  }
}

/** Layer for the texts of the command line. */
export const layer = Layer.merge(CliOutput.layer(formatter), CliOutput.layerPresenter(presenter))

const fileProblems: Readonly<Record<string, string>> = {
  AlreadyExists: "already exists. Choose another file",
  BadResource: "is not a readable file. Check the path",
  NotFound: "does not exist. Check the path",
  PermissionDenied: "cannot be accessed. Check its permissions"
}

const pathOf = (error: object): string => "pathOrDescriptor" in error ? String(error.pathOrDescriptor) : "The file"

/** Returns the problem that only the operating system's code names, such as `ENOSPC`. */
const diskProblem = (reason: object): string | null =>
  "cause" in reason && reason.cause instanceof Error && "code" in reason.cause
    ? `cannot be read or written (${reason.cause.code}). Check its disk`
    : null

/** Returns the sentence for an error of a file, or null for any other error. */
const aboutFile = (error: Error): string | null => {
  if (!("_tag" in error) || error._tag !== "PlatformError" || !("reason" in error)) return null
  const { reason } = error
  if (typeof reason !== "object" || reason === null || !("_tag" in reason)) return null
  const problem = fileProblems[String(reason._tag)] ?? diskProblem(reason)
  return problem === null ? null : `${pathOf(reason)} ${problem}.`
}

/** Returns the message of a failure for the user, or the full cause of an unexpected one without a message. */
export const messageOf = (cause: Cause.Cause<unknown>): string => {
  const error = Cause.squash(cause)
  if (!(error instanceof Error)) return Cause.pretty(cause)
  const words = aboutFile(error)
  if (words !== null) return words
  if ("_tag" in error && error._tag === "StartupRejected") return error.message
  return "_tag" in error && error.message !== "" ? error.message.replaceAll(/\s*\n\s*/g, " ") : Cause.pretty(cause)
}
