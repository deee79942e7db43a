import { createHash, createHmac, pbkdf2Sync, randomBytes, timingSafeEqual } from "node:crypto"

/** What is kept of a password for one SCRAM mechanism: https://www.rfc-editor.org/rfc/rfc5802#section-3 */
export interface ScramKeys {
  readonly salt: Uint8Array
  readonly iterations: number
  readonly storedKey: Uint8Array
  readonly serverKey: Uint8Array
}

export type ScramHash = "sha256" | "sha512"

/** By name; no password is in it. */
export type Users = ReadonlyMap<string, User>

type User = { readonly [hash in ScramHash]: ScramKeys } & {
  /** Patterns of the consumer groups that the user may use; undefined: all. */
  readonly groups?: readonly string[]
}

/** As Kafka has it by default. */
const ITERATIONS = 4096
const SALT_BYTES = 16

/** @param given `name:password`, each. @param groups `name=pattern`, each; undefined: no user is limited */
export const usersOf = (given: readonly string[], groups?: readonly string[]): Users =>
  new Map(
    given.map((pair) => {
      const at = pair.indexOf(":")
      const [name, password] = [pair.slice(0, at), pair.slice(at + 1)]
      const keys = { sha256: keysOf(password, "sha256"), sha512: keysOf(password, "sha512") }
      const own = groups?.filter((one) => one.startsWith(`${name}=`)).map((one) => one.slice(name.length + 1))
      return [name, { ...keys, ...(own !== undefined && { groups: own }) }]
    }),
  )

export function keysOf(password: string, hash: ScramHash, salt = randomBytes(SALT_BYTES)): ScramKeys {
  const salted = pbkdf2Sync(password, salt, ITERATIONS, createHash(hash).digest().length, hash)
  const clientKey = createHmac(hash, salted).update("Client Key").digest()
  return {
    salt,
    iterations: ITERATIONS,
    storedKey: createHash(hash).update(clientKey).digest(),
    serverKey: createHmac(hash, salted).update("Server Key").digest(),
  }
}

/** Of a user that nobody is: checking it takes as long as checking another. */
const NOBODY = {
  sha256: keysOf(randomBytes(16).toString("hex"), "sha256"),
  sha512: keysOf(randomBytes(16).toString("hex"), "sha512"),
}

/** A user's keys, or somebody's where there is no such user. */
export const keysFor = (users: Users, name: string, hash: ScramHash): ScramKeys =>
  (users.get(name) ?? NOBODY)[hash]

export function hasPassword(users: Users, name: string, password: string): boolean {
  const { salt, storedKey } = keysFor(users, name, "sha256")
  return timingSafeEqual(keysOf(password, "sha256", Buffer.from(salt)).storedKey, storedKey)
}
