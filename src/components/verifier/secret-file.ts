import { readFileSync } from "node:fs"
import { dirname } from "node:path"
import { exists, whyUnreadable } from "../../process/paths.ts"
import { HooklineError } from "../../errors.ts"
import { checkFolder } from "../../storage/check-database.ts"
import { createPrivateFile, looseMode } from "../../storage/private-files.ts"
import type { Logger } from "../../telemetry/log.ts"
import { NOTHING_READ } from "../../verify/schemes/credential.ts"
import { Refused, type Verifier } from "../../verify/verifier.ts"

/**
 * Opens the file of a secret that the provider generates and sends in its first request.
 *
 * @param make makes the verifier of the file's secrets, one per line
 * @throws HooklineError `config` when it exists and can't be read, `log_io` when it can't be created
 */
export function openSecretFile(path: string, log: Logger, make: (secrets: readonly string[]) => Verifier) {
  let verifier: Verifier | undefined
  /** Reads the file each time until it exists: another process may have stored the secret. */
  const find = (): Verifier | undefined => {
    if (verifier !== undefined) return verifier
    const secrets = readSecrets(path)
    return secrets.length === 0 ? undefined : (verifier = make(secrets))
  }
  if (find() === undefined) {
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
      if (find() !== undefined) return false
      // fails if another process has created the file
      createPrivateFile(path, `${secret}\n`)
      verifier = make([secret])
      log.warn(
        { secret_file: path, request_id: requestId },
        "secret received in the provider's first request",
      )
      return true
    },
  }
}

/** Empty: no such file yet. @throws HooklineError `config` */
export function readSecrets(path: string): string[] {
  try {
    const text = readFileSync(path, "utf8")
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
  signsUrl: false,
  toleranceMs: 0,
  verify: () => NO_SECRET_YET,
  explain: () => ({ ...NOTHING_READ, result: NO_SECRET_YET, toleranceMs: 0 }),
}
