import { join } from "node:path"
import { freePort } from "../test/support/ports.ts"
import { Lacking, SECRET, startHttp, type Target } from "./target.ts"

interface Variant {
  readonly name: string
  readonly title: string
  /** Its folder in bench/peers, with a script `start` in it. */
  readonly folder: string
  readonly hmac?: boolean
  readonly waitsForAcknowledgement?: boolean
  readonly env?: { readonly [name: string]: string }
}

/** Exit status of a start script that says what the machine lacks: EX_UNAVAILABLE of sysexits.h. */
const UNAVAILABLE = 69

/**
 * What people would use instead of Hookline. `bench/peers/README.md` says what each is and how its settings were found.
 *
 * A start script gets PORT, BOOTSTRAP_SERVERS, TOPIC and SECRET (empty: nothing is verified) by its environment, and
 * becomes the process that listens on 127.0.0.1. With the argument `build` it makes what it needs, once, and ends.
 */
export function peer({
  name,
  title,
  folder,
  hmac = false,
  waitsForAcknowledgement,
  env = {},
}: Variant): Target {
  const script = join(import.meta.dir, "peers", folder, "start")
  const secret = hmac ? SECRET : undefined
  return {
    name,
    title,
    onKafka: true,
    isReceiver: true,
    waitsForAcknowledgement,
    secret,
    async start(topic) {
      await build(title, script)
      const port = await freePort()
      const servers = topic!.bootstrapServers.join(",")
      const where = { PORT: `${port}`, BOOTSTRAP_SERVERS: servers, TOPIC: topic!.topic, SECRET: secret ?? "" }
      return startHttp([script], port, { secret, env: { ...env, ...where } })
    },
  }
}

const built = new Set<string>()

/** Has a start script make what it needs. @throws Lacking when the machine has not what that takes */
export async function build(title: string, script: string): Promise<void> {
  if (built.has(script)) return
  const child = Bun.spawn([script, "build"], { stdin: "ignore", stdout: "ignore", stderr: "pipe" })
  const said = (await child.stderr.text()).trim()
  const status = await child.exited
  if (status === UNAVAILABLE) throw new Lacking(`${title}: ${said.split("\n").at(-1)}`)
  if (status !== 0) throw new Error(`${script} build ended with ${status}:\n${said}`)
  built.add(script)
}
