import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { ROOT } from "./packages.ts"

interface Bom {
  serialNumber?: string
  metadata: { timestamp?: string; tools: unknown; component: Component }
  components: Component[]
}

interface Component {
  name: string
  properties?: unknown
  externalReferences?: readonly unknown[]
}

interface Manifest {
  name: string
  devDependencies?: unknown
  workspaces?: unknown
}

interface Lock {
  packages: {
    [path: string]: {
      dev?: boolean
      devOptional?: boolean
      link?: boolean
      devDependencies?: unknown
      workspaces?: unknown
    }
  }
}

/**
 * The software bill of materials of a production installation, as `npm sbom` makes it of package-lock.json: CycloneDX, without
 * what differs from one run, folder or npm to another.
 */
export function renderSbom(): string {
  const manifest = read("package.json") as Manifest
  delete manifest.devDependencies
  delete manifest.workspaces
  const lock = read("package-lock.json") as Lock
  delete lock.packages[""]!.devDependencies
  delete lock.packages[""]!.workspaces
  // with `--omit dev` npm leaves packages out that a dependency shares with a development dependency
  for (const [path, { dev, devOptional, link }] of Object.entries(lock.packages)) {
    // a workspace of this checkout is built into the package
    const isWorkspace = link === true || !(path === "" || path.startsWith("node_modules/"))
    if (dev === true || devOptional === true || isWorkspace) delete lock.packages[path]
  }

  const bom = sbomOf(manifest, lock)
  delete bom.serialNumber
  delete bom.metadata.timestamp
  delete bom.metadata.tools
  bom.metadata.component.name = manifest.name
  for (const component of [bom.metadata.component, ...bom.components]) {
    delete component.properties
    if (component.externalReferences?.length === 0) delete component.externalReferences
  }
  return `${JSON.stringify(bom, null, 2)}\n`
}

const read = (file: string): unknown => JSON.parse(readFileSync(join(ROOT, file), "utf8"))

function sbomOf(manifest: Manifest, lock: Lock): Bom {
  const folder = mkdtempSync(join(tmpdir(), "hookline-sbom-"))
  try {
    writeFileSync(join(folder, "package.json"), JSON.stringify(manifest))
    writeFileSync(join(folder, "package-lock.json"), JSON.stringify(lock))
    const npm = process.env.npm_execpath
    const command = npm === undefined ? ["npm"] : ["node", npm]
    const flags = ["--sbom-format", "cyclonedx", "--package-lock-only"]
    const run = Bun.spawnSync([...command, "sbom", ...flags], { cwd: folder, stderr: "pipe" })
    if (!run.success) throw new Error(`npm sbom failed: ${run.stderr.toString()}`)
    return JSON.parse(run.stdout.toString()) as Bom
  } finally {
    rmSync(folder, { recursive: true })
  }
}
