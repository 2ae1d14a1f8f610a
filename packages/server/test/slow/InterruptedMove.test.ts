/** Reports of the commands about an organization whose move was interrupted while it was closed. */
import { assert, it } from "@effect/vitest"
import * as Client from "@messaging-crm/adapter-postgres/Client"
import { OrganizationId } from "@messaging-crm/core/Ids"
import { Context, Duration, Effect, Exit, Layer, Redacted, Schema } from "effect"
import { SqlClient } from "effect/sql"
import * as Moving from "../../src/cells/Moving.ts"
import * as Cells from "../../testing/processes/Cells.ts"
import * as Processes from "../../testing/processes/Processes.ts"

const Created = Schema.Struct({ organization: Schema.Struct({ id: OrganizationId }) })

/** Opens the databases of cells, as the command does. */
const open = (setting: string) =>
  Effect.forEach(setting.split("\n"), (line) => {
    const [name = "", ...url] = line.split("=")
    return Effect.map(
      Layer.build(Client.layer({ url: Redacted.make(url.join("=")) })),
      (context) => ({ name, sql: Context.get(context, SqlClient.SqlClient) })
    )
  })

it.live(
  "`doctor` and `cells list` print the commands that end the move of a closed organization",
  () =>
    Effect.gen(function*() {
      const { setting } = yield* Cells.make
      const environment = { CELLS: setting, SECRET_KEY: Buffer.alloc(32, 7).toString("base64"), PROVIDER: "mock" }
      yield* Processes.command(["migrate"], environment)
      const owner = ["--name", "Acme", "--owner-name", "Ada", "--owner-email", "ada@acme.example", "--cell", "eu-1"]
      const created = yield* Processes.command(["organizations", "create", ...owner], environment)
      const { organization: { id: organization_id } } = Schema.decodeUnknownSync(Created)(created)
      const cells = yield* open(setting)
      const onStep = (step: string) => step.startsWith("Copying") ? Effect.interrupt : Effect.void
      const moved = yield* Effect.exit(Moving.move({ organization_id, cells, onStep }, "us-1", Duration.minutes(1)))
      assert.isTrue(Exit.hasInterrupts(moved))

      const move = `messaging-crm organizations move ${organization_id}`
      const detail = `${organization_id} from eu-1 to us-1: closed for writes`
      const advice =
        `Unless the command still runs, continue with \`${move} --to us-1\`, or undo with \`${move} --undo\`.`
      const doctor = Effect.map(Processes.run(["doctor", "--json"], environment), ({ code, stdout }) => ({
        code,
        moves: (JSON.parse(stdout) as ReadonlyArray<Record<string, string>>).filter(({ name }) => name === "Move")
      }))
      assert.deepStrictEqual(yield* doctor, { code: 1, moves: [{ name: "Move", state: "failed", detail, advice }] })
      const list = Effect.map(Processes.run(["cells", "list"], environment), ({ code, stderr }) => ({ code, stderr }))
      assert.deepStrictEqual(yield* list, { code: 0, stderr: `Move of organization ${detail}. ${advice}\n` })

      yield* Processes.command(["organizations", "move", organization_id, "--undo"], environment)
      assert.deepStrictEqual((yield* doctor).moves, [])
      assert.deepStrictEqual(yield* list, { code: 0, stderr: "" })
    }).pipe(Effect.scoped),
  120_000
)
