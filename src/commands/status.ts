import type { Command } from "commander"
import type { Overview } from "./overview.ts"
import { pause } from "../clock/clock.ts"
import { escapeControls } from "../telemetry/escape-controls.ts"
import { configFlag, jsonFlag, type ConfigFlags } from "./common-flags.ts"
import { addDetails } from "./details.ts"
import { Interruption } from "./interruption.ts"
import { describeProblem } from "./problems.ts"
import type { RunningService } from "./running-service.ts"
import { printTable } from "./table.ts"

interface StatusFlags extends ConfigFlags {
  readonly json?: true
  readonly watch?: true
}

const WATCHED_MS = 2000

/* Codes of ECMA-48 and xterm. The alternate screen leaves what a terminal has shown, and can be scrolled back to, as it was. */
const ENTER_SCREEN = "\u001b[?1049h"
const LEAVE_SCREEN = "\u001b[?1049l"
const CLEAR_SCREEN = "\u001b[H\u001b[J"

/** Declares `hookline status`. */
export function declareStatus(program: Command): void {
  addDetails(program.command("status"), {
    notes: `It asks the admin API of the Hookline that runs with this configuration, with its token. With [admin] replicas the
figures of pipelines are sums over all replicas.

Exit status: 0 if events are accepted, or --watch was interrupted, 1 if not, 69 if no Hookline answers.`,
    example: "hookline status --watch",
  })
    .description("print the state of the running Hookline: readiness, rates, refusals, backlogs, replicas")
    .addOption(configFlag())
    .addOption(jsonFlag("JSON: the overview of the admin API"))
    .option(
      "--watch",
      "print it every 2 s, on a terminal in place of the one before, until it is interrupted",
    )
    .action(status)
}

/** @throws HooklineError `config`, `no_input`, `unavailable` */
async function status({ config, json, watch }: StatusFlags): Promise<void> {
  const service = new (await import("./running-service.ts")).RunningService(config)
  const show = (overview: Overview): void => {
    if (json) console.log(escapeControls(JSON.stringify(overview)))
    else print(overview)
  }
  const first = await service.overview()
  process.exitCode = ["ready", "partly ready"].includes(first.state) ? 0 : 1
  if (!watch) return show(first)
  const isRedrawn = !json && process.stdout.isTTY
  const last = await watchOverview(service, first, isRedrawn, show)
  process.exitCode = 0
  if (isRedrawn) show(last)
}

/** Shows overviews until an interrupt. @returns the last one */
async function watchOverview(
  service: RunningService,
  first: Overview,
  isRedrawn: boolean,
  show: (overview: Overview) => void,
): Promise<Overview> {
  const write = (codes: string): void => void (isRedrawn && process.stdout.write(codes))
  using interruption = new Interruption(() => write(LEAVE_SCREEN))
  const { signal } = interruption
  write(ENTER_SCREEN)
  try {
    for (let overview = first; ; overview = await service.overview()) {
      write(CLEAR_SCREEN)
      show(overview)
      await pause(WATCHED_MS, signal)
      if (signal.aborted) return overview
    }
  } finally {
    write(LEAVE_SCREEN)
  }
}

function print({ state, version, host, now, problems, ...lists }: Overview): void {
  const loaded = new Date(lists.configuration_loaded_at).toISOString()
  console.log(escapeControls(`${state}: Hookline ${version} on ${host}, configuration loaded at ${loaded}`))
  for (const it of problems) for (const line of describeProblem(it, now)) console.log(escapeControls(line))
  section(
    ["PIPELINE", "EVENTS/S", "REFUSED/S", "P99 MS", "REFUSED IN 5 MIN"],
    lists.pipelines.map((it) => [
      it.id,
      `${it.events_per_second}`,
      `${it.refused_per_second}`,
      `${it.p99_ms ?? "-"}`,
      it.refusals.map(({ reason, count }) => `${reason} ${count}`).join(", "),
    ]),
    [0, 4],
  )
  section(
    ["CONNECTION", "SPOOLED", "STATE"],
    lists.connections.map((it) => [it.id, `${it.spool?.records ?? "-"}`, stateOf(it)]),
    [0, 2],
  )
  section(
    ["FORWARD", "WAITING", "EVENTS/S", "STATE"],
    lists.forwards.map((it) => [
      it.id,
      `${it.lag ?? "-"}`,
      `${it.per_second}`,
      it.problem ?? (it.paused ? "paused" : "running"),
    ]),
    [0, 3],
  )
  section(
    ["REPLICA", "HOST", "STATE"],
    lists.replicas.map((it) => [it.replica, it.host ?? "-", it.problem ?? it.state ?? "-"]),
    [0, 1, 2],
  )
}

/** Of a connection, in words: its problem, why its events are spooled, or which topics can't be published to. */
export function stateOf({ problem, spool, impaired }: Overview["connections"][number]): string {
  if (problem !== null) return problem
  if (spool !== null && spool.outage !== null) return `spooling: ${spool.outage}`
  const [first, ...others] = impaired
  if (first === undefined) return "ready"
  return `partly ready: ${first}${others.length === 0 ? "" : `; and ${others.length} more`}`
}

/** A table after an empty line; nothing without rows. */
function section(
  heading: readonly string[],
  rows: readonly (readonly string[])[],
  left: readonly number[],
): void {
  if (rows.length === 0) return
  console.log()
  printTable([heading, ...rows], left)
}
