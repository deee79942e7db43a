import { readFileSync, renameSync, rmSync } from "node:fs"
import { dirname, join } from "node:path"
import { Backoff } from "../../clock/backoff.ts"
import { pause } from "../../clock/clock.ts"
import { Lasting } from "../../clock/lasting.ts"
import { fetchBounded } from "../../outgoing/fetch-bounded.ts"
import { fetchFailure } from "../../outgoing/proxied-fetch.ts"
import { addressTest } from "../../addresses/addresses.ts"
import { readPublishedList, type PublishedList } from "../../addresses/published-lists.ts"
import { checkFolder } from "../../storage/check-database.ts"
import { fsyncFile } from "../../storage/fsync.ts"
import { createPrivateFile, makePrivateFolder } from "../../storage/private-files.ts"
import type { Logger } from "../../telemetry/log.ts"

const HOURS = 3_600_000
const FETCHED_EVERY_MS = HOURS
/** How long a network stays allowed that is no longer listed. */
const KEPT_MS = 7 * 24 * HOURS
const BOUNDS = { mostBytes: 4 * 1024 * 1024, timeoutMs: 30_000 }

/** When each network was last listed, in milliseconds since 1970. */
type Networks = ReadonlyMap<string, number>

export interface PublishedAddressesOptions {
  readonly provider: string
  readonly list: PublishedList
  /** The folder of the file `<provider>.json`: {"networks": {"192.0.2.0/24": <when last listed>}} */
  readonly directory: string
  readonly log: Logger
  readonly fetch: (url: string, init?: RequestInit) => Promise<Response>
  readonly now?: () => number
  readonly everyMs?: number
  readonly retryMs?: number
}

/**
 * The addresses of a sender by the list that it publishes, fetched on a timer. The last good list is kept in a file, which
 * other processes share: who finds it new does not fetch. A list that is empty, malformed or has less than half of the
 * networks of the last one is not used, and a network that is no longer listed stays allowed for a week: a wrong list must
 * not refuse the sender.
 */
export class PublishedAddresses {
  readonly #options: PublishedAddressesOptions
  readonly #file: string
  readonly #now: () => number
  readonly #everyMs: number
  readonly #backoff: Backoff
  readonly #outage = new Lasting({ remindMs: 24 * HOURS })
  readonly #closed = new AbortController()
  #networks: Networks = new Map()
  #test: ((address: string) => boolean) | undefined
  /** Resolves once it is closed. */
  readonly #running: Promise<void>

  /** @throws HooklineError `log_io` if the folder can't be written */
  constructor(options: PublishedAddressesOptions) {
    const { directory, provider, now = Date.now, everyMs = FETCHED_EVERY_MS, retryMs = 5000 } = options
    this.#options = options
    this.#file = join(directory, `${provider}.json`)
    this.#now = now
    this.#everyMs = everyMs
    this.#backoff = new Backoff({ first: retryMs, longest: everyMs })
    checkFolder(directory, { title: `the lists of addresses in ${directory}` })
    this.#use(this.#read())
    this.#running = this.#run()
  }

  /** undefined: no list is known yet */
  allows(address: string): boolean | undefined {
    return this.#test?.(address)
  }

  /** Why addresses are not known; undefined: they are. */
  problem(): string | undefined {
    return this.#test === undefined
      ? `the addresses of ${this.#options.provider} are not known yet`
      : undefined
  }

  async close(): Promise<void> {
    this.#closed.abort()
    await this.#running
  }

  async #run(): Promise<void> {
    const { signal } = this.#closed
    // what a check opens and closes at once fetches nothing
    await pause(0, signal)
    while (!signal.aborted) await pause(await this.#refresh(), signal)
  }

  /** @returns the milliseconds until the next one */
  async #refresh(): Promise<number> {
    try {
      const last = this.#read()
      const nowMs = this.#now()
      const ageMs = nowMs - Math.max(0, ...last.values())
      const isNew = ageMs >= 0 && ageMs < this.#everyMs
      const networks = isNew ? last : merge(last, await this.#fetch(last), nowMs)
      this.#use(networks)
      if (!isNew) this.#write(networks)
      this.#backoff.reset()
      if (this.#outage.ended() !== undefined) this.#log("info", "the sender's addresses were fetched again")
      // processes that share the file do not all fetch
      return (isNew ? this.#everyMs - ageMs : this.#everyMs) * (1 + Math.random() / 10)
    } catch (error) {
      if (this.#closed.signal.aborted) return 0
      const reason = fetchFailure(error)
      if (this.#outage.began(reason) !== undefined)
        this.#log(
          "warn",
          this.#test === undefined
            ? "the sender's addresses are not known: addresses that allow does not name get 503"
            : "the sender's addresses were not fetched; those of the last good list stay allowed",
          { reason },
        )
      return this.#backoff.failed()
    }
  }

  async #fetch(last: Networks): Promise<readonly string[]> {
    const { list, fetch } = this.#options
    const networks: string[] = []
    for (const url of list.urls) {
      const { signal } = this.#closed
      const { status, bytes } = await fetchBounded({ fetch }, url, { ...BOUNDS, signal })
      if (status !== 200) throw new Error(`HTTP ${status} from ${url}`)
      networks.push(...readList(bytes, url, list))
    }
    if (networks.length * 2 < last.size)
      throw new Error(
        `the list has ${networks.length} networks and the last one had ${last.size}, so it is not used; if it is right, remove ${this.#file}`,
      )
    return networks
  }

  #use(networks: Networks): void {
    const names = [...networks.keys()]
    if (
      networks.size === 0 ||
      (this.#test !== undefined && Bun.deepEquals(names, [...this.#networks.keys()]))
    )
      return
    this.#networks = networks
    this.#test = addressTest(names)
    this.#log("info", "the sender's addresses are known")
  }

  /** Empty: there is no file, or one that is damaged, which the next fetch replaces. */
  #read(): Networks {
    try {
      const { networks } = JSON.parse(readFileSync(this.#file, "utf8")) as {
        networks: { [name: string]: number }
      }
      const found = new Map(Object.entries(networks))
      return readPublishedList([...found.keys()].join("\n"), {}).length === found.size ? found : new Map()
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT")
        this.#log("warn", "the file of the last list can't be read; the list is fetched again", {
          err: error,
        })
      return new Map()
    }
  }

  #write(networks: Networks): void {
    makePrivateFolder(dirname(this.#file))
    const written = `${this.#file}.${process.pid}`
    rmSync(written, { force: true })
    createPrivateFile(written, `${JSON.stringify({ networks: Object.fromEntries(networks) })}\n`)
    fsyncFile(written)
    renameSync(written, this.#file)
  }

  #log(level: "info" | "warn", message: string, fields: object = {}): void {
    const { provider, log } = this.#options
    log[level]({ provider, networks: this.#networks.size, file: this.#file, ...fields }, message)
  }
}

function readList(bytes: Uint8Array, url: string, list: PublishedList): string[] {
  try {
    return readPublishedList(Buffer.from(bytes).toString(), list)
  } catch (error) {
    const reason = error instanceof SyntaxError ? "is no JSON" : (error as Error).message
    throw new Error(`the list at ${url} ${reason}`, { cause: error })
  }
}

/** What is listed, and what was so lately. */
function merge(last: Networks, listed: readonly string[], nowMs: number): Networks {
  const kept = [...last].filter(([, listedMs]) => nowMs - listedMs < KEPT_MS)
  return new Map([...kept, ...listed.map((name) => [name, nowMs] as const)])
}
