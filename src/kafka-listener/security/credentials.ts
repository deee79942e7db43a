import { createHash, createHmac, pbkdf2Sync, randomBytes, timingSafeEqual } from "node:crypto"

/** What is kept of a password for one SCRAM mechanism: https://www.rfc-editor.org/rfc/rfc5802#section-3 */
export interface ScramKeys {
  readonly salt: Uint8Array
  readonly iterations: number
  readonly storedKey: Uint8Array
  readonly serverKey: Uint8Array
}

export type ScramHash = "sha256" | "sha512"

/** No password is in it. */
export interface Users {
  readonly byName: ReadonlyMap<string, User>
  /** What salts are made of. */
  readonly saltKey: Uint8Array
}

type User = { readonly [hash in ScramHash]: ScramKeys } & {
  /** Patterns of the consumer groups that the user may use; undefined: all. */
  readonly groups?: readonly string[]
}

/** As Kafka has it by default. */
const ITERATIONS = 4096
const SALT_BYTES = 16
/** The process has one, so that a reload changes no salt, neither of a user nor of a name that nobody has. */
const SALT_KEY = randomBytes(32)

/** @param given `name:password`, each. @param groups `name=pattern`, each; undefined: no user is limited */
export const usersOf = (given: readonly string[], groups?: readonly string[]): Users => ({
  saltKey: SALT_KEY,
  byName: new Map(
    given.map((pair) => {
      const at = pair.indexOf(":")
      const [name, password] = [pair.slice(0, at), pair.slice(at + 1)]
      const keys = (hash: ScramHash): ScramKeys => keysOf(password, hash, saltOf(SALT_KEY, name, hash))
      const own = groups?.filter((one) => one.startsWith(`${name}=`)).map((one) => one.slice(name.length + 1))
      return [
        name,
        { sha256: keys("sha256"), sha512: keys("sha512"), ...(own !== undefined && { groups: own }) },
      ]
    }),
  ),
})

function saltOf(key: Uint8Array, name: string, hash: ScramHash): Uint8Array {
  return createHmac("sha256", key).update(`${hash} ${name}`).digest().subarray(0, SALT_BYTES)
}

function keysOf(password: string, hash: ScramHash, salt: Uint8Array): ScramKeys {
  const salted = pbkdf2Sync(password, salt, ITERATIONS, createHash(hash).digest().length, hash)
  const clientKey = createHmac(hash, salted).update("Client Key").digest()
  return {
    salt,
    iterations: ITERATIONS,
    storedKey: createHash(hash).update(clientKey).digest(),
    serverKey: createHmac(hash, salted).update("Server Key").digest(),
  }
}

const nobody = (hash: ScramHash): ScramKeys =>
  keysOf(randomBytes(16).toString("hex"), hash, randomBytes(SALT_BYTES))
const NOBODY = { sha256: nobody("sha256"), sha512: nobody("sha512") }

/** A user's keys. Where there is no such user, nobody's: checking them takes as long, and the salt shows no difference. */
export function keysFor({ byName, saltKey }: Users, name: string, hash: ScramHash): ScramKeys {
  return { ...(byName.get(name) ?? NOBODY)[hash], salt: saltOf(saltKey, name, hash) }
}

export function hasPassword(users: Users, name: string, password: string): boolean {
  const { salt, storedKey } = keysFor(users, name, "sha256")
  return timingSafeEqual(keysOf(password, "sha256", salt).storedKey, storedKey) && users.byName.has(name)
}
