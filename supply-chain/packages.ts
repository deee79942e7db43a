import { readFileSync } from "node:fs"
import { join } from "node:path"
import { SDK_MODULES } from "../scripts/build-sdks.ts"

export const ROOT = join(import.meta.dir, "..")

/** A package whose code a user has, as package-lock.json has it. */
export interface Package {
  /** `node_modules/pino` */
  readonly path: string
  readonly name: string
  readonly version: string
  readonly license: string
  /** Whether it is for some platforms only: a machine of another one lacks it. */
  readonly isOfPlatform: boolean
  /** Whether files of Hookline's package have its code, or that of what it needs, in place of a package of its own. */
  readonly isBundled: boolean
}

/** Names of packages, each with a version or a range. */
export interface Dependencies {
  readonly [name: string]: string
}

export interface Lock {
  readonly packages: { [path: string]: Locked }
}

interface Locked {
  readonly version: string
  readonly license?: string
  readonly os?: readonly string[]
  readonly cpu?: readonly string[]
  readonly dependencies?: Dependencies
  readonly devDependencies?: Dependencies
  readonly optionalDependencies?: Dependencies
  readonly peerDependencies?: Dependencies
  readonly peerDependenciesMeta?: { readonly [name: string]: { readonly optional?: boolean } }
}

export const readLock = (): Lock => JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8")) as Lock

/** The packages that are bundled by `npm run build`: those that the SDKs' modules import, and the admin page's. */
export function bundledDependencies({ packages }: Lock): Dependencies {
  const transpiler = new Bun.Transpiler({ loader: "ts" })
  const own = packages[""]!.devDependencies!
  const ofSdks = SDK_MODULES.flatMap((module) =>
    transpiler.scanImports(readFileSync(join(ROOT, "src", module), "utf8")),
  ).map(({ path }) => /^(?:@[^/]+\/)?[^/]+/.exec(path)![0])
  return {
    ...Object.fromEntries(ofSdks.map((name) => [name, own[name]!])),
    ...packages["console"]!.devDependencies,
  }
}

/** The packages that npm installs with Hookline's own, on any platform, and those that are bundled, by their names. */
export function packagesOfUsers(): Package[] {
  const lock = readLock()
  const { dependencies, optionalDependencies } = lock.packages[""]!
  const installed = withDependencies(lock, { ...dependencies, ...optionalDependencies })
  const bundled = withDependencies(lock, bundledDependencies(lock))
  return [...installed.union(bundled)]
    .map((path) => {
      const { version, license, os, cpu } = lock.packages[path]!
      return {
        path,
        name: path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length),
        version,
        license: license ?? "not stated",
        isOfPlatform: os !== undefined || cpu !== undefined,
        isBundled: !installed.has(path),
      }
    })
    .toSorted((a, b) => compare(a.name, b.name) || compare(a.version, b.version))
}

/** The paths of packages and of all that they need. */
function withDependencies({ packages }: Lock, roots: Dependencies): Set<string> {
  const found = new Set<string>()
  const add = (name: string, from: string): void => {
    let folder = from
    while (packages[`${folder}node_modules/${name}`] === undefined) {
      if (folder === "") throw new Error(`package-lock.json has no ${name}, which ${from} needs`)
      folder = folder.slice(0, folder.lastIndexOf("node_modules/", folder.length - 2))
    }
    const path = `${folder}node_modules/${name}`
    if (found.has(path)) return
    found.add(path)
    const it = packages[path]!
    const peers = Object.keys(it.peerDependencies ?? {}).filter(
      (peer) => it.peerDependenciesMeta?.[peer]?.optional !== true,
    )
    for (const needed of [...Object.keys({ ...it.dependencies, ...it.optionalDependencies }), ...peers])
      add(needed, `${path}/`)
  }
  for (const name of Object.keys(roots)) add(name, "")
  return found
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
