import { steadyMs } from "../src/clock/clock.ts"
import { makeSigner } from "../src/verify/presets/providers.ts"
import { post } from "./load.ts"
import type { Load, Traffic } from "./traffic.ts"

/** Something that is measured. */
export interface Target {
  /** What the command line and the data call it. */
  readonly name: string
  /** What the tables call it. */
  readonly title: string
  /** Whether it publishes to Kafka, which otherwise stands still during its turn. */
  readonly onKafka: boolean
  /** Whether it takes events by HTTP and publishes them to Kafka, which is then checked before it is measured. */
  readonly isReceiver: boolean
  /** How many partitions its topic has; otherwise as many as those of the others. */
  readonly partitions?: number | undefined
  /** False for what answers before Kafka has acknowledged; such a peer promises less. */
  readonly waitsForAcknowledgement?: boolean | undefined
  /** The key by which it expects bodies to be signed, as GitHub signs them. */
  readonly secret?: string | undefined
  /** @throws Lacking when the machine has not what it needs */
  start(topic: Topic | undefined): Promise<Started>
}

/** Where a target publishes to. */
export interface Topic {
  readonly bootstrapServers: readonly string[]
  readonly topic: string
}

export interface Started {
  readonly pid: number
  /** Where it is posted to; what has no HTTP has none. */
  readonly url?: string | undefined
  /** Puts load on it. */
  load(traffic: Omit<Traffic, "headers">): Promise<Load>
  stop(): Promise<void>
}

/** What a target needs is not on this machine. */
export class Lacking extends Error {}

/** A key that signs nothing but the bodies of a benchmark. */
export const SECRET = "example-not-a-secret"

interface Command {
  readonly args: readonly string[]
  readonly cwd?: string
  readonly env?: { readonly [name: string]: string }
  readonly url: string
  readonly paths?: readonly string[]
  readonly keys?: number
  /** The file that takes what it writes; otherwise nobody does. */
  readonly output?: string
}

/** Starts a process that takes bodies by HTTP, and waits until it answers one with 2xx. */
export async function startHttp(
  { args, cwd, env, url, paths, keys, output }: Command,
  secret: string | undefined,
): Promise<Started> {
  // What it writes is read by nobody but a person who looks for why it did not start.
  const child = Bun.spawn([...args], {
    cwd: cwd ?? `${import.meta.dir}/..`,
    env: { ...process.env, ...env },
    stdin: "ignore",
    stdout: output === undefined ? "ignore" : Bun.file(output),
    stderr: "inherit",
  })
  const started: Started = {
    pid: child.pid,
    url,
    load: async (traffic) =>
      post(url, {
        ...(paths === undefined ? {} : { paths }),
        ...(keys === undefined ? {} : { keys }),
        ...traffic,
        headers: await headersOf(traffic.body, secret),
      }),
    async stop() {
      child.kill("SIGTERM")
      const overdue = setTimeout(() => child.kill("SIGKILL"), STOP_MS)
      await child.exited
      clearTimeout(overdue)
    },
  }
  try {
    await accepting(url, secret, () => child.exitCode !== null)
    return started
  } catch (error) {
    await started.stop()
    throw error
  }
}

/** What is sent with a body beside the content type: with a secret, the signature that GitHub would send. */
export async function headersOf(body: string, secret: string | undefined): Promise<Headers> {
  if (secret === undefined) return new Headers()
  const request = { method: "POST", url: "http://127.0.0.1/", headers: new Headers(), id: "1" }
  const signer = makeSigner("github", { secret: [secret] })
  return (await signer.sign({ ...request, body: Buffer.from(body) }, Date.now())).headers
}

/** Waits for the first 200: the broker is connected and its topic known. */
async function accepting(url: string, secret: string | undefined, hasEnded: () => boolean): Promise<void> {
  const body = '{"first":true}'
  const headers = await headersOf(body, secret)
  headers.set("content-type", "application/json")
  const endMs = steadyMs() + START_MS
  let last = "nothing"
  while (steadyMs() < endMs && !hasEnded()) {
    try {
      const { ok, status } = await fetch(url, { method: "POST", body, headers })
      if (ok) return
      last = `status ${status}`
    } catch (error) {
      last = (error as Error).message
    }
    await Bun.sleep(20)
  }
  throw new Error(`${url} ${hasEnded() ? "ended" : "does not accept events"}; the last try gave: ${last}`)
}

/** How long a target may take to its first 200, and to its end after SIGTERM. */
const START_MS = 30_000
const STOP_MS = 10_000
