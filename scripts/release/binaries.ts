/** The command line as one executable for each kind of machine, compiled on this one. */
import { createHash } from "node:crypto"
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs"
import { join } from "node:path"
import { outputOf } from "../../test/support/child.ts"
import { readExecutable, type Executable } from "./executable.ts"

interface Target {
  /** The npm package with Bun for it. */
  readonly runtime: string
  readonly is: Omit<Executable, "isSigned">
}

const linux = (runtime: string, architecture: string, linker: string): Target => ({
  runtime: `@oven/bun-${runtime}`,
  is: { format: "ELF", architecture, linker },
})
const macOS = (runtime: string, architecture: string): Target => ({
  runtime: `@oven/bun-${runtime}`,
  is: { format: "Mach-O", architecture, linker: "/usr/lib/dyld" },
})

/** By the names that Bun has for them. */
export const TARGETS: { readonly [target: string]: Target } = {
  "linux-x64": linux("linux-x64", "x64", "/lib64/ld-linux-x86-64.so.2"),
  "linux-arm64": linux("linux-aarch64", "arm64", "/lib/ld-linux-aarch64.so.1"),
  "linux-x64-musl": linux("linux-x64-musl", "x64", "/lib/ld-musl-x86_64.so.1"),
  "linux-arm64-musl": linux("linux-aarch64-musl", "arm64", "/lib/ld-musl-aarch64.so.1"),
  "darwin-x64": macOS("darwin-x64", "x64"),
  "darwin-arm64": macOS("darwin-aarch64", "arm64"),
}

/** Compiles the command line of a checkout for a target. @param cache of the packages with Bun */
export async function buildBinary(
  source: string,
  target: string,
  file: string,
  cache: string,
): Promise<void> {
  const { runtime, is } = TARGETS[target]!
  const bun = await fetchRuntime(source, runtime, cache)
  // below the checkout: its source map has the paths from there to the modules
  const built = join(source, "dist", target, "hookline")
  const flags = ["--target", target, "--runtime", bun]
  await outputOf(["bin/bun", "scripts/build-binary.ts", ...flags, built], { cwd: source })
  const { isSigned, ...found } = readExecutable(readFileSync(built))
  if (!Bun.deepEquals(found, is))
    throw new Error(`${target}: expected ${JSON.stringify(is)}, not ${JSON.stringify(found)}`)
  if (is.format === "Mach-O" && !isSigned) throw new Error(`${target}: macOS runs no executable unsigned`)
  copyFileSync(built, file)
  // 100 MB that the disk need not write
  rmSync(built)
}

/** Fetches a package that package-lock.json has for other machines, as npm installs it there, and returns its executable. */
async function fetchRuntime(source: string, name: string, cache: string): Promise<string> {
  const lock = JSON.parse(readFileSync(join(source, "package-lock.json"), "utf8")) as {
    packages: { [path: string]: { version: string; integrity: string } }
  }
  const { version, integrity } = lock.packages[`node_modules/${name}`]!
  const kept = join(cache, `${name.replaceAll("/", "-")}-${version}`)
  if (!existsSync(kept)) {
    mkdirSync(cache, { recursive: true })
    const folder = mkdtempSync(join(cache, "fetching-"))
    const pack = ["npm", "pack", "--silent", "--pack-destination", folder, `${name}@${version}`]
    const tarball = join(folder, (await outputOf(pack)).trim())
    const digest = `sha512-${createHash("sha512").update(readFileSync(tarball)).digest("base64")}`
    if (digest !== integrity) throw new Error(`${name} ${version} is not the one of package-lock.json`)
    await outputOf(["tar", "-xzf", tarball, "-C", folder])
    renameSync(join(folder, "package"), kept)
    rmSync(folder, { recursive: true })
  }
  return join(kept, "bin/bun")
}
