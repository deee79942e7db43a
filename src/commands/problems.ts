import { userInfo } from "node:os"
import { Option, type Command } from "commander"
import type { ServiceProblem } from "../admin/api/shapes.ts"
import { ageOf } from "../clock/age.ts"
import { HooklineError } from "../errors.ts"
import { escapeControls } from "../telemetry/escape-controls.ts"
import { configFlag, jsonFlag, type ConfigFlags } from "./common-flags.ts"
import { addDetails } from "./details.ts"
import { parseDuration } from "./flag-values.ts"

interface ProblemFlags extends ConfigFlags {
  readonly json?: true
  /** Milliseconds. */
  readonly for?: number
  readonly by?: string
}

const NOTES = `It asks the admin API of the Hookline that runs with this configuration, with its token. With [admin] replicas it
holds for all of them.`

/** Declares `hookline problems`. */
export function declareProblems(program: Command): void {
  const problems = addDetails(program.command("problems"), {
    notes: `${NOTES}

Exit status: 0 if there is none that nobody has acknowledged or muted, 1 if there is, 69 if no Hookline answers.`,
    example: "hookline problems",
  })
    .description("print what needs action: since when, the cause, the next step, who is on it")
    .addOption(configFlag())
    .addOption(jsonFlag("JSON: the list of the admin API"))
    .action(print)
  const said = (name: string, argument: string, description: string, example: string): Command =>
    addDetails(problems.command(name), { notes: NOTES, example })
      .description(description)
      .argument("<problem>", argument)
      .addOption(configFlag())
  const ID = "its id, as hookline problems prints it"
  const acknowledge = said(
    "ack",
    ID,
    "say that somebody is on a problem, until it is over",
    "hookline problems ack connection_down:kafka --for 2h",
  )
  const mute = said(
    "mute",
    `${ID}, or a kind for all of its problems`,
    "keep a problem from being told, also when it begins again",
    "hookline problems mute silent:newsletter --for 3d",
  )
  for (const [command, action, until] of [
    [acknowledge, "acknowledge", "default: 24h"],
    [mute, "mute", "default: until unmute"],
  ] as const)
    command
      .addOption(new Option("--for <duration>", `how long; ${until}`).argParser(parseDuration))
      .option("--by <name>", "who; default: the user of this shell")
      .action((id: string, flags: ProblemFlags) => say(id, action, flags))
  said(
    "unmute",
    `${ID}, or a kind`,
    "take back that a problem is acknowledged or muted",
    "hookline problems unmute silent:newsletter",
  ).action((id: string, flags: ProblemFlags) => say(id, "unmute", flags))
}

/** @throws HooklineError `config`, `no_input`, `unavailable` */
async function print({ config, json }: ProblemFlags): Promise<void> {
  const [{ RunningService }, { Mute, ServiceProblem }, { Type }] = await Promise.all([
    import("./running-service.ts"),
    import("../admin/api/shapes.ts"),
    import("../admin/api/shape.ts"),
  ])
  const service = new RunningService(config)
  const problems = (await service.get("/api/problems", Type.Array(ServiceProblem))) ?? []
  const isNew = problems.some(({ until, acknowledged, muted }) => until === null && !acknowledged && !muted)
  process.exitCode = isNew ? 1 : 0
  if (json) return console.log(escapeControls(JSON.stringify(problems, null, 2)))
  const mutes = (await service.get("/api/mutes", Type.Array(Mute))) ?? []
  const idle = mutes.filter(({ name }) => problems.every(({ id }) => id !== name))
  for (const line of [
    ...problems.flatMap((it) => [...describeProblem(it, Date.now(), it.id)]),
    ...idle.map((it) => `muted: ${it.name}, ${byWords(it)}`),
  ])
    console.log(escapeControls(line))
  if (problems.length + idle.length === 0) console.log("no problems")
}

/** @throws HooklineError `config`, `no_input`, `unavailable` */
async function say(
  id: string,
  action: "acknowledge" | "mute" | "unmute",
  { config, for: forMs, by = userInfo().username }: ProblemFlags,
): Promise<void> {
  const [{ RunningService }, { ServiceProblem }, { Type }] = await Promise.all([
    import("./running-service.ts"),
    import("../admin/api/shapes.ts"),
    import("../admin/api/shape.ts"),
  ])
  const content = action === "unmute" ? undefined : { by, ...(forMs && { until: Date.now() + forMs }) }
  const path = `/api/problems/${encodeURIComponent(id)}/${action}`
  const answer = await new RunningService(config).ask(path, Type.Array(ServiceProblem), "POST", content)
  if (answer.value === undefined)
    throw new HooklineError(answer.status === 404 ? "no_input" : "unavailable", answer.detail)
  console.log(
    `${escapeControls(id)} ${{ acknowledge: "acknowledged", mute: "muted", unmute: "unmuted" }[action]}`,
  )
}

/** A problem in lines: since when it is there, what to do, and who is on it; of one that is over, when it ended. */
export function* describeProblem(
  { severity, cause, since, until, next_step: next, acknowledged, muted }: ServiceProblem,
  nowMs: number,
  id?: string,
): Iterable<string> {
  if (until !== null) return yield `over: ${cause} (ended ${ageOf(nowMs - until)} ago)`
  yield `${severity}: ${cause} (for ${ageOf(nowMs - since)})`
  if (id !== undefined) yield `  ${id}`
  if (muted !== null) yield `  muted ${byWords(muted)}`
  else if (acknowledged !== null) yield `  acknowledged ${byWords(acknowledged)}`
  else yield `  ${next}`
}

const byWords = ({ by, until }: { readonly by: string; readonly until: number | null }): string =>
  `by ${by}${until === null ? "" : ` until ${new Date(until).toISOString().slice(0, 16)}Z`}`
