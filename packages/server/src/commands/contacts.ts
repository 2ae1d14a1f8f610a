import { Command } from "effect/cli"
import { importContacts } from "./importContacts.ts"
import { eraseContact, exportContact, exportSchema } from "./personalData.ts"

export const contacts = Command.make("contacts").pipe(
  Command.withDescription("Import, export, and erase contacts of an organization"),
  Command.withSubcommands([importContacts, exportContact, exportSchema, eraseContact])
)
