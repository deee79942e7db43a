import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { postByOha } from "./oha.ts"
import type { Load, Traffic } from "./traffic.ts"
import { postByWrk } from "./wrk.ts"

/**
 * Posts a body again and again: in a closed loop by wrk, in an open loop by oha.
 *
 * @throws Error when an answer was not 2xx or a connection failed: such a run measures nothing
 */
export async function post(url: string, traffic: Traffic): Promise<Load> {
  const folder = mkdtempSync(join(tmpdir(), "hookline-load-"))
  try {
    const bodyFile = join(folder, "body.json")
    await Bun.write(bodyFile, traffic.body)
    const { arrivals } = traffic
    if ("rate" in arrivals) return await postByOha(url, { ...traffic, rate: arrivals.rate, bodyFile })
    const closed = { ...traffic, connections: arrivals.connections, bodyFile, folder }
    return await postByWrk(url, closed)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
