/**
 * `npm run bench:flame -- [options]`: where Hookline's event loop spends its time under load, as a flame picture made of
 * what Bun's CPU profiler saw. The other threads and the kernel's part of a call are not in it.
 *
 *     --target NAME   hookline, hookline-hmac, embedded or embedded-hmac; default hookline-hmac
 *     --seconds N     of load, default 5
 *     --checkout DIR  the Hookline in that folder instead of this one, to compare
 *     --out FILE      default flame.svg in the temporary folder
 */
import { mkdtempSync, readdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { parseArgs } from "node:util"
import { bodies } from "./body.ts"
import { flamePicture, foldProfile, type CpuProfile } from "./flame-picture.ts"
import { hookline } from "./hookline.ts"
import { openBenchKafka } from "./kafka.ts"
import { withTarget } from "./measure.ts"

const { values: flags } = parseArgs({
  options: {
    target: { type: "string", default: "hookline-hmac" },
    seconds: { type: "string", default: "5" },
    checkout: { type: "string", default: join(import.meta.dir, "..") },
    out: { type: "string", default: join(tmpdir(), "flame.svg") },
  },
})

async function main(): Promise<void> {
  const profiles = mkdtempSync(join(tmpdir(), "hookline-flame-"))
  const log = flags.target.startsWith("embedded") ? "embedded" : "kafka"
  const target = hookline({
    name: flags.target,
    title: flags.target,
    log,
    hmac: flags.target.endsWith("-hmac"),
    checkout: resolve(flags.checkout),
    bunFlags: ["--cpu-prof", `--cpu-prof-dir=${profiles}`, "--cpu-prof-interval=250"],
  })
  const kafka = log === "kafka" ? await openBenchKafka() : undefined
  try {
    const load = await withTarget(target, kafka, (started) =>
      started.load({
        body: bodies["1.1 KB"],
        arrivals: { connections: 64 },
        seconds: Number(flags.seconds),
      }),
    )
    const [name] = readdirSync(profiles)
    if (name === undefined) throw new Error("Bun wrote no profile")
    const profile = (await Bun.file(join(profiles, name)).json()) as CpuProfile
    const frames = foldProfile(profile, Number(flags.seconds))
    const title = `${flags.target}: ${frames.samples} samples of the event loop, ${load.requests} events`
    await Bun.write(flags.out, flamePicture(title, frames))
    console.log(`${title}: ${flags.out}`)
  } finally {
    await kafka?.stop()
    rmSync(profiles, { recursive: true })
  }
}

await main()
