import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { bundledDependencies, type Dependencies, packagesOfUsers, readLock, ROOT } from "./packages.ts"

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

/** The part of package.json, and of its entry in package-lock.json, that says what is installed. */
interface Manifest {
  readonly name?: string
  readonly dependencies?: Dependencies
  readonly devDependencies?: Dependencies | undefined
  readonly workspaces?: unknown
}

/**
 * The software bill of materials of what users have, as `npm sbom` makes it of package-lock.json: CycloneDX, without what differs
 * from one run, folder or npm to another.
 */
export function renderSbom(): string {
  const lock = readLock()
  const bundled = bundledDependencies(lock)
  // as if what is bundled were installed
  const withBundled = (manifest: Manifest): Manifest => ({
    ...manifest,
    dependencies: { ...manifest.dependencies, ...bundled },
    devDependencies: undefined,
    workspaces: undefined,
  })
  const manifest = withBundled(JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as Manifest)
  const entries = packagesOfUsers().map(({ path }) => [path, lock.packages[path]] as const)
  const packages = { "": withBundled(lock.packages[""]!), ...Object.fromEntries(entries) }

  const bom = sbomOf(manifest, { ...lock, packages })
  delete bom.serialNumber
  delete bom.metadata.timestamp
  delete bom.metadata.tools
  bom.metadata.component.name = manifest.name!
  for (const component of [bom.metadata.component, ...bom.components]) {
    delete component.properties
    if (component.externalReferences?.length === 0) delete component.externalReferences
  }
  return `${JSON.stringify(bom, null, 2)}\n`
}

function sbomOf(manifest: object, lock: object): Bom {
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
