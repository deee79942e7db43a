import { RedisLink, type RedisServer } from "../../dedupe/redis-client.ts"
import { RedisLease } from "../../dedupe/redis-lease.ts"
import type { ServiceStore } from "./service-store.ts"

/*
 * Keys are `hookline:service:` and
 *
 *   <group>         a hash: texts by name
 *   holder:<name>   the process that holds it, until it no longer renews it
 */
const PREFIX = "hookline:service:"

/** The store of all replicas, in the Redis of `[service]`. */
export class RedisStore implements ServiceStore {
  readonly isShared = true
  readonly #process: string
  readonly #link: RedisLink
  readonly #leases = new Map<string, RedisLease>()

  /** @param process the id of this one @param link of its own, which it closes */
  constructor(process: string, server: RedisServer, link = new RedisLink(server)) {
    this.#process = process
    this.#link = link
  }

  async read(group: string): Promise<ReadonlyMap<string, string>> {
    // Bun's client answers with an object, that of Sentinels and Clusters with a list of names and texts
    const found = await this.#link.send("HGETALL", [PREFIX + group])
    if (!Array.isArray(found)) return new Map(Object.entries(Object(found) as Record<string, string>))
    const texts = found.map(String)
    return new Map(texts.flatMap((name, at) => (at % 2 === 0 ? [[name, texts[at + 1]!] as const] : [])))
  }

  async write(group: string, name: string, text: string | undefined): Promise<void> {
    const [command, ...args] = text === undefined ? ["HDEL", name] : ["HSET", name, text]
    await this.#link.send(command!, [PREFIX + group, ...args])
  }

  async hold(name: string): Promise<AbortSignal | undefined> {
    const lost = await this.#leases
      .getOrInsertComputed(name, () => new RedisLease(this.#link, `${PREFIX}holder:${name}`, this.#process))
      .hold()
    return typeof lost === "string" ? undefined : lost
  }

  async release(name: string): Promise<void> {
    await this.#leases.get(name)?.release()
  }

  async close(): Promise<void> {
    for (const lease of this.#leases.values()) await lease.release()
    this.#link.close()
  }
}
