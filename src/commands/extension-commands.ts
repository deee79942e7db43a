import type { Command } from "commander"
import type { CommandHost, PlannedSection } from "../extensions/command-host.ts"
import type { Extension } from "../extensions/define-extension.ts"
import { extensions } from "../extensions/registry.ts"
import { configFlag, jsonFlag } from "./common-flags.ts"
import { addDetails } from "./details.ts"
import { parseTimeFlag } from "./flag-values.ts"
import { Interruption } from "./interruption.ts"

/** Declares the commands of every extension. */
export function declareExtensions(program: Command): void {
  for (const extension of extensions) extension.commands(program, hostOf(extension))
}

const hostOf = (extension: Extension): CommandHost => ({
  addDetails,
  configFlag,
  jsonFlag,
  parseTime: parseTimeFlag,
  plan: (file, id) => planSection(extension, file, id),
  untilInterrupted,
})

async function planSection(
  extension: Extension,
  file: string | undefined,
  id: string,
): Promise<PlannedSection<unknown>> {
  const [{ Application }, { loadForCommand }, { planExtensionSection }] = await Promise.all([
    import("../runtime/application.ts"),
    import("../runtime/load-for-command.ts"),
    import("../runtime/plan/plan-part.ts"),
  ])
  const configuration = loadForCommand(file)
  const planned = planExtensionSection(configuration, extension, id)
  let app: InstanceType<typeof Application> | undefined
  const connections = (): InstanceType<typeof Application> => (app ??= Application.fromFile(file))
  return {
    planned,
    baseDir: configuration.baseDir,
    openReader: (connection) => connections().openReader(connection),
    connections: {
      keys: () => connections().connectionIds(),
      get: (connection) => connections().connection(connection),
    },
  }
}

async function untilInterrupted(work: (signal: AbortSignal) => Promise<void>): Promise<void> {
  using interruption = new Interruption()
  try {
    await work(interruption.signal)
  } catch (error) {
    if (interruption.status === undefined) throw error
    process.exitCode = interruption.status
  }
}
