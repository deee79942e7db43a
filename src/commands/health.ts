import type { Command } from "commander"
import { CA_VARIABLE } from "../admin/client-tls.ts"
import { HooklineError } from "../errors.ts"
import { fetchFailure } from "../outgoing/proxied-fetch.ts"
import { adminUrl, askAdmin } from "./ask-admin.ts"
import { configFlag, type ConfigFlags } from "./common-flags.ts"
import { addDetails } from "./details.ts"

interface HealthFlags extends ConfigFlags {
  readonly ready?: true
}

/** How long the admin listener has to answer. */
const TIMEOUT_MS = 3000

/** Declares `hookline health`, which containers without curl check themselves with. */
export function declareHealth(program: Command): void {
  addDetails(program.command("health"), {
    notes: `For HEALTHCHECK of containers: it asks the admin listener of the configuration, on this machine. Exit status: 0 if it
answers 200, else 69.`,
    example: "hookline health --ready -c /etc/hookline/pipelines.conf",
  })
    .description("ask the running Hookline of this configuration whether it is alive, or ready")
    .addOption(configFlag())
    .option("--ready", "ask whether it accepts events (/readyz) instead of whether it runs (/healthz)")
    .action(health)
}

/** Prints the answer. @throws HooklineError `unavailable` unless it is 200; `config`, `no_input` */
async function health({ config, ready }: HealthFlags): Promise<void> {
  const [{ loadForCommand }, { planAdmin }] = await Promise.all([
    import("../runtime/load-for-command.ts"),
    import("../runtime/plan/plan-part.ts"),
  ])
  const admin = planAdmin(loadForCommand(config))
  const { listen } = admin
  if (listen === "off" || listen.port === 0)
    throw new HooklineError("usage", "[admin] listen names no port; health asks the admin listener")
  const path = ready ? "/readyz" : "/healthz"
  const url = adminUrl({ ...admin, listen }) + path
  const { status, text } = await ask({ ...admin, listen }, path)
  if (status !== 200) throw new HooklineError("unavailable", `${url} answers ${status}: ${text}`)
  console.log(text)
}

async function ask(
  admin: Parameters<typeof askAdmin>[0],
  path: string,
): Promise<{ status: number; text: string }> {
  try {
    // a name of the listener's need not be in [admin] hosts
    const headers = { Host: "localhost" }
    const answer = await askAdmin(admin, path, { headers, signal: AbortSignal.timeout(TIMEOUT_MS) })
    return { status: answer.status, text: (await answer.text()).trim() }
  } catch (error) {
    if (error instanceof HooklineError) throw error
    const failure = fetchFailure(error, CA_VARIABLE)
    throw new HooklineError("unavailable", `${adminUrl(admin)}${path}: ${failure}`, { cause: error })
  }
}
