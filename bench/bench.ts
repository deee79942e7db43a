/**
 * `npm run bench`: what a pipeline costs beside a bare `Bun.serve` that reads the body and answers 200.
 *
 * Each target gets the same body over the same number of connections, in turn, for several rounds; the table shows
 * medians. CPU is that of the target's process tree; the ratios of one run are what counts, absolute figures move
 * with the machine. `--seconds N` and `--rounds N` set the length, `--connections N` the load.
 */
import { $ } from "bun"
import { mkdtempSync, rmSync } from "node:fs"
import { cpus, tmpdir } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { makeSigner } from "../src/verify/providers.ts"
import { canStartKafka, startKafka, type OwnKafka } from "../test/support/kafka.ts"
import { stripeShaped } from "./body.ts"
import { loadGenerator, post, type Load } from "./load.ts"
import { cpuMicroseconds, peakMiB } from "./process.ts"

interface Target {
  name: string
  /** What the requests have beside the content type. */
  headers?: Headers
  /** The target that it is compared with beside the first one. */
  beside?: string
  start(): Promise<Started>
}

interface Started {
  pid: number
  url: string
  stop(): Promise<void>
}

interface Measured {
  requestsPerSecond: number
  p50: number
  p99: number
  cpuPerEvent: number
  peak: number
}

const { values: flags } = parseArgs({
  options: {
    seconds: { type: "string", default: "8" },
    rounds: { type: "string", default: "3" },
    connections: { type: "string", default: "64" },
  },
})
const seconds = Number(flags.seconds)
const rounds = Number(flags.rounds)
const connections = Number(flags.connections)

const root = join(import.meta.dir, "..")
const folder = mkdtempSync(join(tmpdir(), "hookline-bench-"))

async function main(): Promise<void> {
  const log = `directory = ${join(folder, "log")}`
  const targets: Target[] = [
    bare(),
    pipeline("embedded log", log),
    pipeline("embedded log, HMAC-SHA256", log, {
      section: VERIFIER,
      headers: await signed(),
      beside: "embedded log",
    }),
  ]
  const kafka = (await canStartKafka()) ? await startKafka() : undefined
  if (kafka !== undefined) targets.push(onKafka(kafka))

  const runs = new Map<string, Measured[]>()
  for (let round = 1; round <= rounds; round++) {
    for (const target of targets) {
      console.log(`round ${round} of ${rounds}: ${target.name}`)
      runs.set(target.name, [...(runs.get(target.name) ?? []), await measure(target)])
    }
  }
  print(runs, targets)
}

const SECRET = "example-not-a-secret"
const VERIFIER = `[pipeline:bench:Verifier]\nprovider = github\nsecret = ${SECRET}\n`

/** The headers that GitHub would send with the body, which is the same every time. */
async function signed(): Promise<Headers> {
  const body = Buffer.from(stripeShaped)
  const request = { method: "POST", url: "http://127.0.0.1/", headers: new Headers(), body, id: "1" }
  return (await makeSigner("github", { secret: [SECRET] }).sign(request, Date.now())).headers
}

async function measure(target: Target): Promise<Measured> {
  // What the target before left for the kernel to write would be written during this one's fsyncs.
  await $`sync`
  const { pid, url, stop } = await target.start()
  const { headers = new Headers() } = target
  try {
    // Compiled code and grown buffers are what runs in production: a first load is not counted.
    await post(url, stripeShaped, { connections, headers, seconds: Math.max(2, Math.round(seconds / 4)) })
    const before = cpuMicroseconds(pid)
    const load: Load = await post(url, stripeShaped, { connections, headers, seconds })
    const used = cpuMicroseconds(pid) - before
    return {
      requestsPerSecond: load.requests / load.seconds,
      p50: load.p50,
      p99: load.p99,
      cpuPerEvent: used / load.requests,
      peak: peakMiB(pid),
    }
  } finally {
    await stop()
  }
}

function bare(): Target {
  return {
    name: "bare Bun.serve",
    start: () => spawned(["bench/bare.ts"], (line) => /^\d+$/.exec(line)?.[0]),
  }
}

/** The reference pipeline, everything at its default but the log level's destination, on a given connection. */
function pipeline(
  name: string,
  connection: string,
  verifier: { section: string; headers: Headers; beside?: string } = { section: "", headers: new Headers() },
): Target {
  const { section, ...described } = verifier
  return {
    name,
    ...described,
    async start() {
      const file = join(folder, "pipelines.conf")
      const port = freePort()
      await Bun.write(
        file,
        `[connection:bench]\n${connection}\n` +
          `[pipeline:bench:WebHookSource]\nhost = 127.0.0.1\nport = ${port}\npath = /\n` +
          `${section}[pipeline:bench:BrokerSink]\ntopic = bench\n[admin]\nlisten = off\n`,
      )
      const started = await spawned(["src/cli.ts", "run", "-c", file], (line) =>
        line.includes("listening") ? String(port) : undefined,
      )
      await accepting(started.url, described.headers)
      return started
    },
  }
}

/** The broker stands still but for its own turns, so that it takes nothing from the other targets. */
function onKafka(kafka: OwnKafka): Target {
  const { name, start } = pipeline("Kafka, acks=all", `bootstrap_servers = ${kafka.bootstrapServers}`)
  const pause = (): void => kafka.nodes.forEach((node) => node.pause())
  pause()
  return {
    name,
    async start() {
      for (const node of kafka.nodes) node.resume()
      const { stop, ...started } = await start()
      return { ...started, stop: () => stop().finally(pause) }
    },
  }
}

async function spawned(args: string[], portIn: (line: string) => string | undefined): Promise<Started> {
  const child = Bun.spawn([process.execPath, ...args], { cwd: root, stdout: "pipe", stderr: "inherit" })
  const stop = async (): Promise<void> => {
    child.kill("SIGTERM")
    await child.exited
  }
  const lines = child.stdout.pipeThrough(new TextDecoderStream()).getReader()
  let text = ""
  for (;;) {
    const { value, done } = await lines.read()
    if (done) throw new Error(`${args.join(" ")} ended before it listened:\n${text}`)
    text += value
    const port = text
      .split("\n")
      .map(portIn)
      .find((found) => found !== undefined)
    if (port !== undefined) {
      // The rest is read so that the child never waits for a full pipe.
      void (async () => {
        while (!(await lines.read()).done);
      })()
      return { pid: child.pid, url: `http://127.0.0.1:${port}/`, stop }
    }
  }
}

/** Waits until the pipeline answers 200: its broker is connected and its topic is there. */
async function accepting(url: string, headers: Headers): Promise<void> {
  for (let attempt = 0; attempt < 30; attempt++) {
    const { status } = await fetch(url, { method: "POST", body: stripeShaped, headers })
    if (status === 200) return
  }
  throw new Error(`${url} does not accept events`)
}

function freePort(): number {
  const server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response() })
  const { port } = server
  void server.stop(true)
  return port!
}

function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

function print(runs: Map<string, Measured[]>, targets: readonly Target[]): void {
  const medians = [...runs].map(([name, all]) => {
    const of = (key: keyof Measured): number => median(all.map((one) => one[key]))
    return {
      name,
      rate: of("requestsPerSecond"),
      p50: of("p50"),
      p99: of("p99"),
      cpu: of("cpuPerEvent"),
      peak: of("peak"),
    }
  })
  const base = medians[0]!
  const cpuModel = cpus()[0]?.model ?? "unknown processor"
  console.log(
    `\nBun ${Bun.version}, ${cpus().length} x ${cpuModel}, ${loadGenerator}, ${connections} connections, ` +
      `${Buffer.byteLength(stripeShaped)} B bodies, medians of ${rounds} rounds of ${seconds} s\n`,
  )
  const rows = [
    ["target", "req/s", "ratio", "p50 ms", "p99 ms", "CPU us/event", "ratio", "peak MiB"],
    ...medians.map((it) => [
      it.name,
      it.rate.toFixed(0),
      (it.rate / base.rate).toFixed(2),
      it.p50.toFixed(2),
      it.p99.toFixed(2),
      it.cpu.toFixed(1),
      (it.cpu / base.cpu).toFixed(2),
      it.peak.toFixed(0),
    ]),
  ]
  rows.splice(
    1,
    0,
    rows[0]!.map((_, column) => (column === 0 ? "---" : "---:")),
  )
  for (const row of rows) console.log(`| ${row.join(" | ")} |`)
  for (const { name, beside } of targets) {
    const [more, less] = [name, beside].map((it) => medians.find((row) => row.name === it))
    if (more === undefined || less === undefined) continue
    console.log(`\n${name}: ${(more.cpu - less.cpu).toFixed(1)} us of CPU an event beside ${less.name}`)
  }
}

try {
  await main()
} finally {
  rmSync(folder, { recursive: true, force: true })
}
// A Kafka that was started for this run ends with this process.
process.exit()
