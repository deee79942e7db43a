import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  randomUUID,
  type KeyObject,
} from "node:crypto"
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs"
import { join } from "node:path"

interface RsaKeyPair {
  readonly publicKey: KeyObject
  readonly privateKey: KeyObject
}

let taken = 0

/**
 * An RSA key that this test file has for the first time. Making one takes 0.1 s of CPU or more, so the files of a run share them: the
 * first key that each takes is the same one, and so on.
 */
export function newRsaKey(bits = 2048): RsaKeyPair {
  const folder = process.env.HOOKLINE_TEST_KEYS
  if (folder === undefined) return generateKeyPairSync("rsa", { modulusLength: bits })
  const file = join(folder, `${bits}-${taken++}.pem`)
  if (!existsSync(file)) {
    mkdirSync(folder, { recursive: true })
    const { privateKey } = generateKeyPairSync("rsa", { modulusLength: bits })
    const written = `${file}.${randomUUID()}`
    writeFileSync(written, privateKey.export({ format: "pem", type: "pkcs8" }))
    renameSync(written, file)
  }
  const privateKey = createPrivateKey(readFileSync(file))
  return { privateKey, publicKey: createPublicKey(privateKey) }
}
