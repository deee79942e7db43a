import { temporaryFolder } from "../test/support/hookline.ts"
import { postByOha } from "./oha.ts"
import type { Load, Traffic } from "./traffic.ts"
import { postByWrk } from "./wrk.ts"

/**
 * Posts a body again and again: in a closed loop by wrk, in an open loop by oha.
 *
 * @throws Error when an answer was not 2xx or a connection failed: such a run measures nothing
 */
export async function post(url: string, traffic: Traffic): Promise<Load> {
  using folder = temporaryFolder()
  const { arrivals } = traffic
  return "rate" in arrivals
    ? await postByOha(url, { ...traffic, ...arrivals, folder: folder.path })
    : await postByWrk(url, { ...traffic, ...arrivals, folder: folder.path })
}
