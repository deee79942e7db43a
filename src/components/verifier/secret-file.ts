import { readRegularFile } from "../../process/regular-file.ts"
import { dirname } from "node:path"
import { exists, whyUnreadable } from "../../process/paths.ts"
import { HooklineError } from "../../errors.ts"
import { checkFolder } from "../../storage/check-database.ts"
import { createPrivateFile, looseMode } from "../../storage/private-files.ts"
import type { Logger } from "../../telemetry/log.ts"
import { NOTHING_READ, Refused, type Verifier } from "../../verify/verification.ts"

/**
 * Opens the file of a secret that the provider generates and sends in its first request. Of a provider whose webhooks have
 * one each, further ones are in files next to it: `asana.secret.2`.
 *
 * @param count how many secrets are accepted before there are enough
 * @param make makes the verifier of the files' secrets, one per line
 * @throws HooklineError `config` when it exists and can't be read, `log_io` when it can't be created
 */
export function openSecretFile(
  { path, count }: { readonly path: string; readonly count: number },
  log: Logger,
  make: (secrets: readonly string[]) => Verifier,
) {
  const paths = pathsOf(path, count)
  let verifier: Verifier | undefined
  const secrets: string[] = []
  /** How many of the files, in order, were read. */
  let known = 0
  /** Looks for the next file each time while one is missing: another process may have stored a secret. */
  const find = (): Verifier | undefined => {
    while (known < count && (known === 0 || exists(paths[known]!))) {
      const found = readSecretsOf(paths[known]!)
      if (found.length === 0) break
      known++
      secrets.push(...found)
      verifier = make([...secrets])
    }
    return verifier
  }
  find()
  if (known < count) {
    if (!exists(dirname(path))) throw new HooklineError("config", `the folder of ${path} does not exist`)
    checkFolder(dirname(path), { title: path })
  }
  const loose = looseMode(path)
  if (loose !== undefined)
    log.warn({ paths: [loose] }, "secret_file is open to other users of this machine; run chmod go-rwx on it")
  return {
    /** Refuses everything until the secret is known. */
    current: (): Verifier => find() ?? NO_SECRET,
    /** Stores the secret of a request, readable by its owner only. @returns false if one is already known */
    learn(secret: string, requestId: string): boolean {
      find()
      const next = paths[known]
      if (next === undefined || secrets.includes(secret)) return false
      // fails if another process has created the file
      createPrivateFile(next, `${secret}\n`)
      find()
      log.warn(
        { secret_file: next, request_id: requestId },
        "secret received in the provider's first request",
      )
      return true
    },
  }
}

const pathsOf = (path: string, count: number): readonly string[] =>
  Array.from({ length: count }, (_, i) => (i === 0 ? path : `${path}.${i + 1}`))

/** Those of the first `count` files. Empty: there is none yet. @throws HooklineError `config` */
export const readSecrets = (path: string, count: number): readonly string[] =>
  pathsOf(path, count).flatMap(readSecretsOf)

function readSecretsOf(path: string): string[] {
  try {
    const text = readRegularFile(path).toString()
    return text.split("\n").flatMap((line) => line.trim() || [])
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") return []
    const message = `${path} ${whyUnreadable(cause)}`
    throw new HooklineError("config", message, { cause })
  }
}

const NO_SECRET_YET = new Refused("no_match", "no secret yet: the provider's first request has not arrived")

const NO_SECRET: Verifier = {
  needs: "body",
  isQuick: true,
  signsUrl: false,
  toleranceMs: 0,
  verify: () => NO_SECRET_YET,
  explain: () => ({ ...NOTHING_READ, result: NO_SECRET_YET, toleranceMs: 0 }),
}
