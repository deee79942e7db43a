import { resolve } from "node:path"
import { within } from "../clock/clock.ts"
import { isComponent, type Component } from "../components/define-component.ts"
import { registryWith } from "../components/registry.ts"
import { HooklineError } from "../errors.ts"
import { recordIn } from "../process/file-watcher.ts"
import { whyUnreadable } from "../process/paths.ts"
import type { ApplicationOptions } from "../runtime/application-options.ts"

/*
 * Components of modules that the command line or $HOOKLINE_COMPONENTS names, for sections of the configuration file. The file
 * itself, which may be another team's, can't name them.
 */

/** How long a module may take to load. */
const LOAD_MS = 30_000

/** The variable; its paths are separated by colons, as in PATH. */
const VARIABLE = "HOOKLINE_COMPONENTS"

export interface ComponentFlags {
  /** Paths as the command line gives them. */
  readonly components?: readonly string[]
}

/**
 * Loads the modules that the flags name, else the variable. Their `import "hookline"` is this program, wherever they are. The
 * variable names them from then on, for processes that this one starts.
 *
 * @throws HooklineError `no_input` for one that can't be read, `config` for one that can't be used
 */
export async function loadComponents({
  components: named,
}: ComponentFlags): Promise<Pick<ApplicationOptions, "components" | "modules">> {
  const paths = named ?? (process.env[VARIABLE] ?? "").split(":").filter((path) => path !== "")
  if (paths.length === 0) return {}
  const files = [...new Set(paths.map((path) => resolve(path)))]
  process.env[VARIABLE] = files.join(":")
  // oxlint-disable-next-line no-restricted-imports -- for the modules, which import what a library user does
  const library = (await import("../index.ts")) as Record<string, unknown>
  Bun.plugin({
    name: "hookline",
    setup: (build) => void build.module("hookline", () => ({ exports: library, loader: "object" })),
  })
  const components = new Set<Component>()
  const before = new Set(Object.keys(require.cache))
  for (const file of files) {
    try {
      for (const component of await componentsOf(file)) components.add(component)
      registryWith([...components])
    } catch (error) {
      if (!(error instanceof HooklineError)) throw error
      throw new HooklineError(error.code, `--components ${file}: ${error.message}`, { cause: error })
    }
  }
  const modules = new Map<string, string>()
  const loaded = Object.keys(require.cache).filter((it) => it.startsWith("/") && !before.has(it))
  for (const file of new Set([...files, ...loaded])) recordIn(modules)(file)
  return { components: [...components], modules }
}

async function componentsOf(file: string): Promise<readonly Component[]> {
  if (file.includes(":"))
    throw new HooklineError("usage", `a colon separates paths in $${VARIABLE}; rename the file`)
  try {
    await Bun.file(file).bytes()
  } catch (error) {
    throw new HooklineError("no_input", whyUnreadable(error), { cause: error })
  }
  const late = (): never => {
    throw new HooklineError("config", `has not loaded within ${LOAD_MS / 1000} s`)
  }
  let module: object
  try {
    module = (await within(LOAD_MS, import(file) as Promise<object>, late)) as object
  } catch (cause) {
    if (cause instanceof HooklineError) throw cause
    throw new HooklineError("config", `can't be loaded: ${describe(cause)}`, { cause })
  }
  const found = Object.values(module).filter(isComponent)
  if (found.length > 0) return found
  throw new HooklineError("config", "exports no component; export what defineComponent returns")
}

/** The first error, and its file and line if known. */
function describe(error: unknown): string {
  const [first] = error instanceof AggregateError ? (error.errors as unknown[]) : [error]
  if (!(first instanceof Error || first instanceof BuildMessage)) return String(first)
  const { file, line } = ("position" in first ? first.position : undefined) ?? {}
  const [, thrown] = /(\/[^\s()]+:\d+):\d+/.exec(first instanceof Error ? (first.stack ?? "") : "") ?? []
  const place = file === undefined ? thrown : `${file}:${line}`
  return place === undefined ? first.message : `${first.message} (${place})`
}
