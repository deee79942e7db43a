import { join } from "node:path"
import { plugin } from "bun"

/** A text of one file that is replaced when the file is loaded. */
export interface SourceChange {
  /** Below the repository's root. */
  readonly file: string
  /** Found exactly once in it. */
  readonly text: string
  readonly replacement: string
}

const ROOT = join(import.meta.dir, "../..")

/**
 * Has files loaded with changes, in this process; to be called before they are imported.
 *
 * @throws when a text is not found exactly once, at once
 */
export async function changeSources(changes: readonly SourceChange[]): Promise<void> {
  const contents = new Map<string, string>()
  for (const { file, text, replacement } of changes) {
    const path = join(ROOT, file)
    const source = contents.get(path) ?? (await Bun.file(path).text())
    const [before, after, ...more] = source.split(text)
    if (after === undefined || more.length > 0)
      throw new Error(
        `${file}: expected once, found ${after === undefined ? 0 : more.length + 1} times: ${text}`,
      )
    contents.set(path, before + replacement + after)
  }
  plugin({
    name: "source changes",
    setup(build) {
      for (const [path, text] of contents) {
        const filter = new RegExp(`^${path.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}$`)
        build.onLoad({ filter }, () => ({ contents: text, loader: path.endsWith(".ts") ? "ts" : "js" }))
      }
    },
  })
}

/** The producer connects to the simulated network, see network.ts. */
export const SIMULATED_NETWORK: SourceChange = {
  file: "src/brokers/kafka/broker-socket.ts",
  text: "Bun.connect(",
  replacement: "globalThis.simulatedConnect(",
}

/** The machine's uptime is that of the simulated machine, see simulated-globals.ts. */
export const SIMULATED_UPTIME: SourceChange = {
  file: "src/clock/machine-clock.ts",
  text: "= readUptime)",
  replacement: "= globalThis.simulatedUptime)",
}
