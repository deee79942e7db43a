import { steadyMs } from "../src/clock/clock.ts"
import { makeSigner } from "../src/verify/presets/providers.ts"
import { post, type Load, type Traffic } from "./load.ts"

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
  /** Topics that it needs beside its own. */
  readonly idleTopics?: readonly string[]
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

export interface Started extends AsyncDisposable {
  readonly pid: number
  /** Where it is posted to; what has no HTTP has none. */
  readonly url?: string | undefined
  /** Puts load on it. */
  load(traffic: Omit<Traffic, "headers">): Promise<Load>
}

/** What a target needs is not on this machine. */
export class Lacking extends Error {}

/** A key that signs nothing but the bodies of a benchmark. */
export const SECRET = "example-not-a-secret"

/** A process that takes bodies by HTTP. */
interface Receiver {
  readonly pid: number
  readonly url: string
  readonly secret: string | undefined
  /** As a load has them. */
  readonly paths?: readonly string[] | undefined
  readonly keys?: number | undefined
  readonly exited: Promise<unknown>
}

/** Waits for a process's first 200: the broker is connected and its topic known. @throws Error when there is none */
export async function onceAccepting({ pid, url, secret, paths, keys, exited }: Receiver) {
  const ended = new AbortController()
  void exited.then(() => ended.abort())
  const body = '{"first":true}'
  const headers = await headersOf(body, secret)
  headers.set("content-type", "application/json")
  const load: Started["load"] = async (traffic) =>
    post(url, { paths, keys, ...traffic, headers: await headersOf(traffic.body, secret) })
  const endMs = steadyMs() + START_MS
  let last = "nothing"
  while (steadyMs() < endMs && !ended.signal.aborted) {
    try {
      const { ok, status } = await fetch(url, { method: "POST", body, headers })
      if (ok) return { pid, url, load }
      last = `status ${status}`
    } catch (error) {
      last = (error as Error).message
    }
    await Bun.sleep(20)
  }
  const what = ended.signal.aborted ? "ended" : "does not accept events"
  throw new Error(`${url} ${what}; the last try gave: ${last}`)
}

/** Starts a process that takes bodies at a port of this machine, and waits until it answers one with 2xx. */
export async function startHttp(
  args: readonly string[],
  port: number,
  { secret, env }: { secret?: string | undefined; env?: { readonly [name: string]: string } } = {},
): Promise<Started> {
  // What it writes is read by nobody but a person who looks for why it did not start.
  const child = Bun.spawn([...args], {
    cwd: `${import.meta.dir}/..`,
    env: { ...process.env, ...env },
    stdio: ["ignore", "ignore", "inherit"],
  })
  await using processes = new AsyncDisposableStack()
  processes.defer(async () => {
    child.kill("SIGTERM")
    const overdue = setTimeout(() => child.kill("SIGKILL"), STOP_MS)
    await child.exited
    clearTimeout(overdue)
  })
  const { pid, exited } = child
  const started = await onceAccepting({ pid, url: `http://127.0.0.1:${port}/`, secret, exited })
  const running = processes.move()
  return { ...started, [Symbol.asyncDispose]: () => running.disposeAsync() }
}

/** What is sent with a body beside the content type: with a secret, the signature that GitHub would send. */
export async function headersOf(body: string, secret: string | undefined): Promise<Headers> {
  if (secret === undefined) return new Headers()
  const request = { method: "POST", url: "http://127.0.0.1/", headers: new Headers(), id: "1" }
  const signer = makeSigner("github", { secret: [secret] })
  return (await signer.sign({ ...request, body: Buffer.from(body) }, Date.now())).headers
}

/** How long a target may take to its first 200, and to its end after SIGTERM. */
const START_MS = 30_000
const STOP_MS = 10_000
