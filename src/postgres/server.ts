import { type PostgresUrl, parsePostgresUrl } from "../addresses/postgres-url.ts"
import { HooklineError } from "../errors.ts"
import { readCas } from "../process/pem-files.ts"

/** A database, and the schema in it that has the log. */
export interface PostgresServer extends PostgresUrl {
  readonly schema: string
  /** The CAs that its certificate is checked against, instead of the public ones. */
  readonly ca: string | undefined
}

interface Options {
  readonly postgres: string
  readonly schema: string
  readonly postgres_ca?: string | undefined
}

/** @throws OptionError `config` of postgres_ca */
export function serverOf({ postgres, schema, postgres_ca: file }: Options): PostgresServer {
  const url = parsePostgresUrl(postgres)
  if (url === undefined) throw new HooklineError("internal", "the URL of PostgreSQL was not checked")
  return { ...url, schema, ca: file === undefined ? undefined : readCas("postgres_ca", file) }
}
