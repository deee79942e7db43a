import { readFileSync } from "node:fs"
import { join } from "node:path"

export const ROOT = join(import.meta.dir, "..")

/** A package that is installed with Hookline, as package-lock.json has it. */
export interface Package {
  /** `node_modules/pino` */
  readonly path: string
  readonly name: string
  readonly version: string
  readonly license: string
  /** Whether it is for some platforms only: a machine of another one lacks it. */
  readonly isOfPlatform: boolean
}

interface Locked {
  readonly version: string
  readonly license?: string
  readonly dev?: boolean
  /** Whether it stands for a workspace of this checkout. */
  readonly link?: boolean
  readonly devOptional?: boolean
  readonly os?: readonly string[]
  readonly cpu?: readonly string[]
}

/** The packages that a production installation has, in the order of their names. */
export function productionPackages(): Package[] {
  const lock = JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8")) as {
    packages: { [path: string]: Locked }
  }
  return Object.entries(lock.packages)
    .filter(
      ([path, { dev, devOptional, link }]) =>
        path.startsWith("node_modules/") && link !== true && dev !== true && devOptional !== true,
    )
    .map(([path, { version, license, os, cpu }]) => ({
      path,
      name: path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length),
      version,
      license: license ?? "not stated",
      isOfPlatform: os !== undefined || cpu !== undefined,
    }))
    .toSorted((a, b) => compare(a.name, b.name) || compare(a.version, b.version))
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
