import type { GroupUser } from "../groups/memory.ts"
import { hasPassword, type ScramHash, type Users } from "./credentials.ts"
import { ScramServer, type SaslStep } from "./scram.ts"

/** What clients authenticate with; PLAIN sends the password, so that it takes TLS. */
const SCRAM: { readonly [mechanism: string]: ScramHash } = {
  "SCRAM-SHA-256": "sha256",
  "SCRAM-SHA-512": "sha512",
}

/*
 * The authentication of one connection, by SASL:
 *
 *   none      nothing but ApiVersions and SaslHandshake is served.
 *   begun     a mechanism was chosen: SaslAuthenticate is served as well, or bare messages are expected.
 *   done      everything is served.
 *   refused   the connection ends.
 */
export class ClientAuthentication {
  readonly #users: Users | undefined
  readonly mechanisms: readonly string[]
  #step: ((message: Uint8Array) => SaslStep) | undefined
  #isBare = false
  #user: string | undefined
  /** Patterns of the groups that the client may use; undefined: all. */
  #groups: readonly string[] | undefined
  state: "none" | "begun" | "done" | "refused"

  /** @param users undefined: nobody has to authenticate */
  constructor(users: Users | undefined, hasTls: boolean) {
    this.#users = users
    this.mechanisms = [...Object.keys(SCRAM), ...(hasTls ? ["PLAIN"] : [])]
    this.state = users === undefined ? "done" : "none"
  }

  /** Whether the next frame is a message of the mechanism alone. */
  get expectsBare(): boolean {
    return this.#isBare && this.state === "begun"
  }

  /**
   * @param isBare its messages come without the protocol's headers
   * @returns whether the mechanism is supported
   */
  begin(mechanism: string, isBare: boolean): boolean {
    const users = this.#users
    if (users === undefined || !this.mechanisms.includes(mechanism)) return false
    const hash = SCRAM[mechanism]
    if (hash === undefined) this.#step = (message) => plain(users, message)
    else {
      const scram = new ScramServer(users, hash)
      this.#step = (message) => scram.next(message)
    }
    this.#isBare = isBare
    this.state = "begun"
    return true
  }

  /** Takes a message of the client's. */
  take(message: Uint8Array): SaslStep {
    const step = this.state === "begun" ? this.#step!(message) : "refused"
    if (step === "refused") this.state = "refused"
    else if (step.user !== undefined) {
      this.#user = step.user
      this.#groups = this.#users!.byName.get(step.user)!.groups
      this.state = "done"
    }
    return step
  }

  /** Who uses groups, and how many may. */
  get groupUser(): GroupUser {
    return { user: this.#user, users: Math.max(1, this.#users?.byName.size ?? 1) }
  }

  /** Whether the client may use a consumer group. */
  mayUse(group: string): boolean {
    return this.#groups?.some((pattern) => matches(pattern, group)) ?? true
  }
}

/** `billing`, or with a `*` at its end all that begin so. */
const matches = (pattern: string, group: string): boolean =>
  pattern.endsWith("*") ? group.startsWith(pattern.slice(0, -1)) : group === pattern

/** https://www.rfc-editor.org/rfc/rfc4616 */
function plain(users: Users, message: Uint8Array): SaslStep {
  const [authorization, name = "", password = "", ...more] = Buffer.from(message).toString().split("\0")
  const isItself = authorization === "" || authorization === name
  return hasPassword(users, name, password) && isItself && more.length === 0
    ? { reply: Buffer.alloc(0), user: name }
    : "refused"
}
