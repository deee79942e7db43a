import type { Command } from "commander"
import { HooklineError } from "../errors.ts"
import { Application } from "../runtime/application.ts"
import { configFlag, connectionFlag, type ConfigFlags } from "./common-flags.ts"
import { connectionsOf } from "./connections-of.ts"
import { addDetails } from "./details.ts"

interface DbFlags extends ConfigFlags {
  readonly connection?: string
  readonly role?: string
}

export function declareDb(program: Command): void {
  const db = program.command("db").description("create a log in a database").helpCommand(false)
  addDetails(db.command("init"), {
    notes: `It creates the schema of each connection with postgres, its tables and functions, as the user of its URL, or brings them to
this release's version; what is there stays. Hookline itself needs no more than the right to call its functions and to read:
with --role it is granted to the user that Hookline connects as, and the URL of this command is the owner's.`,
    example: "hookline db init --role hookline",
  })
    .description(
      "create the tables of a log in PostgreSQL, or bring them up to date; also while Hookline runs",
    )
    .addOption(configFlag())
    .addOption(connectionFlag())
    .option("--role <user>", "a user of the database that may publish and read")
    .action(initialize)
}

/** @throws HooklineError `config`, `usage`, `unavailable` */
async function initialize({ config, connection, role }: DbFlags): Promise<void> {
  const app = Application.fromFile(config)
  const all = connectionsOf(app, connection).map((id) => app.connection(id))
  const found = all.filter(({ kind }) => kind.initialize !== undefined)
  if (found.length === 0)
    throw new HooklineError(
      "usage",
      "no connection of the file has a log in a database; add postgres = <URL> to one",
    )
  for (const { kind, values } of found)
    for (const line of await kind.initialize!(values, role)) console.log(line)
}
