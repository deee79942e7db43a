import { RedisClient } from "bun"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { endingWithThisProcess, untilAnswers } from "./child.ts"
import type { Certificates } from "./kafka-certificates.ts"
import { freePort } from "./ports.ts"
import { hasTools } from "./tools.ts"

/** A Redis or Valkey that a test started and may break. It writes what it is told to disk, so that a start finds it. */
export interface OwnRedis extends AsyncDisposable {
  /** With the password, if any: `redis://:password@127.0.0.1:41234`, or `rediss://` with TLS. */
  readonly url: string
  /** Sends a command on a connection of its own. */
  send(command: string, ...args: string[]): Promise<unknown>
  kill(): Promise<void>
  start(): Promise<void>
  pause(): void
  resume(): void
}

/** Certificates of servers that speak TLS only. */
export type RedisTls = Pick<Certificates, "ca" | "server">

const SERVERS = ["redis-server", "valkey-server"]

/** Whether `startRedis` can work here; if not, as `hasTools`. */
export const hasRedis = (): boolean =>
  SERVERS.some((name) => Bun.which(name) !== null) || hasTools(SERVERS[0]!)

/** Starts a server of its own on a free port of 127.0.0.1, with these certificates by TLS. */
export async function startRedis({
  password,
  tls,
  args = [],
}: {
  password?: string
  tls?: RedisTls | undefined
  args?: readonly string[]
} = {}): Promise<OwnRedis> {
  const folder = await mkdtemp(join(tmpdir(), "hookline-redis-"))
  const port = await freePort()
  const url = redisUrl(port, password, tls)
  const program = SERVERS.map((name) => Bun.which(name)).find((it) => it !== null)!
  const durable = "--appendonly yes --appendfsync always --save"
  const command = [
    program,
    ...`--bind 127.0.0.1 --dir ${folder} ${durable}`.split(" "),
    "",
    ...listening(port, tls),
    ...(password === undefined ? [] : ["--requirepass", password]),
    ...args,
  ]
  let server: Bun.Subprocess

  const send = (command: string, ...args: string[]): Promise<unknown> => sendOnce(url, tls, command, ...args)
  const start = async (): Promise<void> => {
    server = Bun.spawn(endingWithThisProcess(...command), { stdout: "ignore", stderr: "inherit" })
    await untilAnswers(server, async () => (await send("PING")) === "PONG")
  }
  const kill = async (): Promise<void> => {
    server.kill("SIGKILL")
    await server.exited
  }
  await start()
  return {
    url,
    send,
    kill,
    start,
    pause: () => server.kill("SIGSTOP"),
    resume: () => server.kill("SIGCONT"),
    async [Symbol.asyncDispose]() {
      await kill()
      await rm(folder, { recursive: true })
    },
  }
}

/** Of a server on this machine. */
export function redisUrl(port: number, password: string | undefined, tls: RedisTls | undefined): string {
  const login = password === undefined ? "" : `:${encodeURIComponent(password)}@`
  return `redis${tls === undefined ? "" : "s"}://${login}127.0.0.1:${port}`
}

/** Sends a command on a connection of its own, and resolves with the answer. */
export async function sendOnce(
  url: string,
  tls: RedisTls | undefined,
  command: string,
  ...args: string[]
): Promise<unknown> {
  const client = new RedisClient(url, {
    autoReconnect: false,
    enableOfflineQueue: false,
    ...(tls === undefined ? {} : { tls: { ca: await Bun.file(tls.ca).text() } }),
  })
  try {
    await client.connect()
    return (await client.send(command, args)) as unknown
  } finally {
    client.close()
  }
}

function listening(port: number, tls: RedisTls | undefined): string[] {
  if (tls === undefined) return ["--port", `${port}`]
  const settings = Object.entries({ port: "0", "tls-port": `${port}`, ...tlsSettings(tls) })
  return settings.flatMap(([name, value]) => [`--${name}`, value])
}

/** Of a server, also towards others. */
export const tlsSettings = ({ ca, server: { certificate, key } }: RedisTls): { [name: string]: string } => ({
  "tls-cert-file": certificate,
  "tls-key-file": key,
  "tls-ca-cert-file": ca,
  "tls-auth-clients": "no",
  "tls-replication": "yes",
})

/** Of redis-cli. */
export const tlsFlags = (tls: RedisTls | undefined): string[] =>
  tls === undefined ? [] : ["--tls", "--cacert", tls.ca]
