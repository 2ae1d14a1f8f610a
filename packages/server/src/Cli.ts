/** The commands. Each loads what it runs when it is called, so that help appears at once. */
import { Command } from "effect/cli"
import { audit } from "./commands/audit.ts"
import { cells } from "./commands/cells.ts"
import { channels } from "./commands/channels.ts"
import { contactFields } from "./commands/contactFields.ts"
import { contacts } from "./commands/contacts.ts"
import { dev } from "./commands/dev.ts"
import { doctor } from "./commands/doctor.ts"
import { init } from "./commands/init.ts"
import { keys } from "./commands/keys.ts"
import { mcp } from "./commands/mcp.ts"
import { members } from "./commands/members.ts"
import { migrate } from "./commands/migrate.ts"
import { openapi } from "./commands/openapi.ts"
import { organizations } from "./commands/organizations.ts"
import { serve, worker } from "./commands/serve.ts"
import { webhooks } from "./commands/webhooks.ts"

/** The command `messaging-crm`. */
export const root = Command.make("messaging-crm").pipe(
  Command.withDescription(
    "Customer conversations on WhatsApp, Instagram, and Messenger behind one REST API. Settings come from the environment: see docs/configuration.md."
  ),
  Command.withExamples([
    { command: "messaging-crm dev" },
    { command: "messaging-crm keys create --help" }
  ]),
  Command.withSubcommands([
    dev,
    serve,
    worker,
    migrate,
    doctor,
    init,
    cells,
    organizations,
    members,
    keys,
    audit,
    channels,
    contactFields,
    contacts,
    webhooks,
    mcp,
    openapi
  ])
)
