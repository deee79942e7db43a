import { RedisClient } from "bun"
import { within } from "../clock/clock.ts"
import { HooklineError } from "../errors.ts"
import type { Logger } from "../telemetry/log.ts"
import { FailoverClient } from "./failover-client.ts"
import { isTls, parseRedisUrl } from "../addresses/redis-url.ts"

/*
 * The states of a connection to Redis or Valkey:
 *
 *   down    at the start and after a failure: send() rejects. Every RETRY_MS a new client connects, writes a key that expires
 *           soon, and calls `connected`; if all succeed, the link is up. A server that is loading, read-only or out of memory
 *           refuses the write, and counts as down.
 *   up      send() sends. A closed connection, an error reply or a late answer to a probe leads back to down, and ends the
 *           commands without a reply.
 *   closed
 *
 * A command that fails in a Cluster does not lead to down, since it says nothing of the other nodes.
 *
 * Bun's own reconnection gives up after some attempts, and does not notice a silent server.
 */

const RETRY_MS = 250
const CONNECT_MS = 1000
const PROBE_EVERY_MS = 500
/** A server that does not answer for so long is down. */
const SILENT_MS = 1500
const SECOND_LOOK_MS = 50
/** How long a check waits: several Sentinels may have to be asked, one after the other. */
const REACH_MS = 5000
/** Bun's client does not distinguish a refused password or an untrusted certificate from a closed port. */
const UNREACHABLE = "can't be reached, or refuses the user or password"
const UNTRUSTED = ", or has a certificate that is not trusted (store_ca, or redis_ca in [service])"
/** Arguments of EVAL. */
const WRITE_PROBE = ["return redis.call('SET', KEYS[1], ARGV[1], 'PX', 1000)", "1", "hookline:probe", "1"]

const RENEW =
  "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end return 0"
const RELEASE = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0"

/** Extends the expiry of a key if it has that value. @returns whether it has */
export const renewKey = async (
  link: Pick<RedisLink, "send">,
  key: string,
  value: string,
  ms: number,
): Promise<boolean> => (await link.send("EVAL", [RENEW, "1", key, value, String(ms)])) === 1

/** Deletes a key if it has that value. */
export const releaseKey = (link: Pick<RedisLink, "send">, key: string, value: string): Promise<unknown> =>
  link.send("EVAL", [RELEASE, "1", key, value])

export interface RedisServer {
  /** With user, password and database, if any. */
  readonly url: string
  /** For messages, without credentials. */
  readonly name: string
  /** In PEM; undefined: the public CAs. */
  readonly ca: string | undefined
}

export interface LinkDependencies {
  /** Absent: callers report its failures. */
  readonly log?: Pick<Logger, "info" | "error">
  /** Called before the link is up, with a `send` of its own. If it rejects the link stays down. */
  readonly connected?: (send: RedisLink["send"]) => Promise<void>
}

/** Connects once and writes a key that expires soon, as a link does. @returns why it can't be used; undefined: it can */
export async function reachRedis(server: RedisServer): Promise<string | undefined> {
  const client = openClient(server)
  try {
    return await within(REACH_MS, writeOnce(client, server), () => `${server.name} does not answer`)
  } finally {
    client.close()
  }
}

async function writeOnce(client: Client, { url, name }: RedisServer): Promise<string | undefined> {
  try {
    await client.connect()
  } catch {
    return `${name} ${unreachable(url)}`
  }
  try {
    await client.send("EVAL", WRITE_PROBE)
    return undefined
  } catch (error) {
    return `${name} can't be used: ${(error as Error).message}`
  }
}

const unreachable = (url: string): string => `${UNREACHABLE}${isTls(url) ? UNTRUSTED : ""}`

type Client = RedisClient | FailoverClient

function openClient({ url, ca }: RedisServer): Client {
  const parsed = parseRedisUrl(url)
  if (parsed !== undefined && parsed.kind !== "server") return new FailoverClient(parsed, ca)
  return new RedisClient(url, {
    autoReconnect: false,
    enableOfflineQueue: false,
    connectionTimeout: CONNECT_MS,
    ...(ca === undefined ? {} : { tls: { ca } }),
  })
}

/** A connection to a server, to the master that Sentinels name, or to a Cluster, that reconnects by itself. */
export class RedisLink {
  readonly #server: RedisServer
  readonly #deps: LinkDependencies
  #client: Client | undefined
  #problem: string | undefined
  #closed = false
  #timer: Timer | undefined

  constructor(server: RedisServer, deps: LinkDependencies = {}) {
    this.#server = server
    this.#deps = deps
    this.#problem = `${server.name} is not connected yet`
    void this.#connect()
  }

  /** @throws HooklineError `unavailable`, as a rejection; the command may have been executed */
  async send(command: string, args: string[]): Promise<unknown> {
    if (this.#problem !== undefined || this.#client === undefined)
      throw new HooklineError("unavailable", this.#problem ?? `${this.#server.name} is not connected`)
    return this.#sendOn(this.#client, command, args)
  }

  ready(): true | string {
    return this.#problem ?? true
  }

  close(): void {
    this.#closed = true
    this.#problem = `the connection to ${this.#server.name} is closed`
    clearTimeout(this.#timer)
    this.#client?.close()
  }

  async #sendOn(client: Client, command: string, args: string[]): Promise<unknown> {
    try {
      return await client.send(command, args)
    } catch (cause) {
      const problem = `${this.#server.name} can't be used: ${(cause as Error).message}`
      const isOneOfMany = client instanceof FailoverClient && client.hasNodes
      if (this.#problem !== undefined || !isOneOfMany) this.#fail(client, problem)
      throw new HooklineError("unavailable", problem, { cause })
    }
  }

  async #connect(): Promise<void> {
    const { log, connected } = this.#deps
    const { name, url } = this.#server
    const client = openClient(this.#server)
    this.#client = client
    // it is no EventTarget
    // oxlint-disable-next-line prefer-add-event-listener
    client.onclose = () =>
      this.#fail(
        client,
        `${name} ${this.#problem === undefined ? "closed the connection" : unreachable(url)}`,
      )
    const answered = this.#failWhenSilent(client)
    try {
      await client.connect()
      const send: RedisLink["send"] = (command, args) => this.#sendOn(client, command, args)
      await send("EVAL", WRITE_PROBE)
      await connected?.(send)
    } catch {
      // a command's failure was logged before
      this.#fail(client, `${name} ${unreachable(url)}`)
    } finally {
      answered()
    }
    if (this.#client !== client || this.#closed) return
    this.#problem = undefined
    log?.info("the Deduplicator's store is connected")
    this.#probeLater(client)
  }

  #probeLater(client: Client): void {
    this.#timer = setTimeout(async () => {
      const answered = this.#failWhenSilent(client)
      try {
        await this.#sendOn(client, "PING", [])
        this.#probeLater(client)
      } catch (error) {
        this.#fail(client, (error as Error).message)
      } finally {
        answered()
      }
    }, PROBE_EVERY_MS)
  }

  /** @returns to be called when the server has answered */
  #failWhenSilent(client: Client): () => void {
    const fail = (): void => this.#fail(client, `${this.#server.name} does not answer`)
    // an answer that arrived while this process did not run is read in between
    let timer = setTimeout(() => (timer = setTimeout(fail, SECOND_LOOK_MS)), SILENT_MS)
    return () => clearTimeout(timer)
  }

  /** Drops a client, unless another has replaced it. */
  #fail(client: Client, problem: string): void {
    if (this.#client !== client || this.#closed) return
    this.#client = undefined
    if (this.#problem !== problem) this.#deps.log?.error(`the Deduplicator's store is down: ${problem}`)
    this.#problem = problem
    client.close()
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => void this.#connect(), RETRY_MS)
  }
}
