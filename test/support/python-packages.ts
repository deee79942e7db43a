import { existsSync } from "node:fs"
import { mkdir, mkdtemp, rename, rm } from "node:fs/promises"
import { join } from "node:path"
import { runToEnd } from "./child.ts"
import { hasTools, lacks } from "./tools.ts"

/** Beside the installed packages, as Kafka's. */
const CACHE = join(import.meta.dir, "../../node_modules/.cache/hookline-python")

/** Python packages that tests need, in a folder of their own: nothing is installed into the system. */
export class PythonPackages {
  /** For PYTHONPATH. */
  readonly folder: string
  /** Their programs, for PATH. */
  readonly bin: string
  readonly #requirements: readonly string[]
  #fetched: Promise<string | undefined> | undefined

  /** @param requirements as pip has them, with exact versions: `protobuf==6.33.0` */
  constructor(...requirements: readonly string[]) {
    this.#requirements = requirements
    this.folder = join(CACHE, requirements.join(","))
    this.bin = join(this.folder, "bin")
  }

  /** Whether they can be had; if not, as `hasTools`. */
  async areHere(): Promise<boolean> {
    if (!hasTools("python3")) return false
    const missing = await this.fetch()
    return missing === undefined || lacks(missing, ["python3-pip"])
  }

  /** Fetches them where they are not there yet. Returns why they can't be had. */
  fetch(): Promise<string | undefined> {
    this.#fetched ??= this.#fetch()
    return this.#fetched
  }

  /** The variables that programs of these packages run with. */
  get env(): { readonly [name: string]: string | undefined } {
    return { ...process.env, PYTHONPATH: this.folder, PATH: `${this.bin}:${process.env["PATH"]}` }
  }

  async #fetch(): Promise<string | undefined> {
    if (existsSync(this.folder)) return undefined
    if (Bun.which("python3") === null) return "python3 is not installed"
    await mkdir(CACHE, { recursive: true })
    const fetching = await mkdtemp(join(CACHE, "fetching-"))
    try {
      const pip = ["python3", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
      const target = join(fetching, "packages")
      const { status, stderr } = await runToEnd([...pip, "--target", target, ...this.#requirements])
      if (status !== 0) return `pip could not install ${this.#requirements.join(", ")}: ${stderr.trim()}`
      // another process may have been faster
      await rename(target, this.folder).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== "ENOTEMPTY" && error.code !== "EEXIST") throw error
      })
      return undefined
    } finally {
      await rm(fetching, { recursive: true, force: true })
    }
  }
}
