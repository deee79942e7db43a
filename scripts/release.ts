/**
 * Makes everything that a release publishes, from the files of the last commit, in dist/release: docs/releasing.md.
 *
 * `npm run release -- --dry-run` makes, checks, signs with a throw-away key and lists it; with `--twice` it makes all of it once
 * more elsewhere and compares the bytes. `npm run release -- --prepare 0.2.0` writes the version and the changelog's heading
 * before. Without either it needs the release's commit and key, and prints the commands that publish.
 */
import { createHash } from "node:crypto"
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join, resolve } from "node:path"
import { parseArgs } from "node:util"
import { outputOf } from "../test/support/child.ts"
import { buildBinary, TARGETS } from "./release/binaries.ts"
import { packageChart } from "./release/chart.ts"
import { buildDebianPackage, DEBIAN_ARCHITECTURES } from "./release/debian.ts"
import { makeBaseImage, storageIn, writeImage, type Buildah } from "./release/image.ts"
import {
  changelogHeading,
  isInChangelog,
  prepareVersion,
  versionOf,
  versionProblems,
} from "./release/version.ts"

const ROOT = join(import.meta.dir, "..")
/** Beside the installed packages, as what tests fetch. */
const CACHE = join(ROOT, "node_modules/.cache/hookline-release")
const SUMS = "SHA256SUMS"
const KEY_VARIABLE = "HOOKLINE_RELEASE_KEY"

const { values: flags } = parseArgs({
  options: {
    "dry-run": { type: "boolean", default: false },
    twice: { type: "boolean", default: false },
    prepare: { type: "string" },
    out: { type: "string" },
  },
})

interface Making {
  /** The commit that the files are of. */
  readonly commit: string
  /** Its time, in seconds. */
  readonly epoch: number
  readonly buildah: Buildah
  /** Whether the image starts from the one of a registry. */
  readonly pulls: boolean
}

async function main(): Promise<void> {
  const today = new Date().toISOString().slice(0, 10)
  if (flags.prepare !== undefined) return prepare(flags.prepare, today)
  const out = resolve(flags.out ?? join(ROOT, "dist/release"))
  const version = versionOf(ROOT)
  const isRehearsal = flags["dry-run"]
  const problems = isRehearsal ? [] : await reasonsAgainst(version)
  if (problems.length > 0) throw new Error(`not released:\n  ${problems.join("\n  ")}`)
  if (flags.out === undefined) rmSync(out, { recursive: true, force: true })
  else if (existsSync(out) && readdirSync(out).length > 0) throw new Error(`${out} is not empty`)

  mkdirSync(CACHE, { recursive: true })
  const work = mkdtempSync(join(tmpdir(), "hookline-release-"))
  try {
    // changes that are not committed are a commit of no branch; without any, it prints nothing
    const author = ["-c", "user.name=dry run", "-c", "user.email=dry-run@localhost"]
    const stash = ["git", ...author, "stash", "create"]
    const changed = isRehearsal ? (await outputOf(stash, { cwd: ROOT })).trim() : ""
    const commit = changed === "" ? "HEAD" : changed
    const time = await outputOf(["git", "log", "-1", "--format=%ct", commit], { cwd: ROOT })
    const buildah = await storageIn(join(work, "images"))
    const making: Making = { commit, epoch: Number(time), buildah, pulls: !isRehearsal }
    await make(making, join(work, "first"), out)
    if (flags.twice) {
      await make(making, join(work, "second"), join(work, "again"), join(work, "first"))
      compare(out, join(work, "again"))
    }
    await sign(out, version, isRehearsal ? await throwAwayKey(work) : process.env[KEY_VARIABLE]!)
  } finally {
    rmSync(work, { recursive: true })
  }
  list(out)
  if (flags.twice) console.log("\nMade twice: the same bytes, the signature apart.")
  if (!isRehearsal) {
    const commands = publishing(out, version).map((command) => `  ${command}\n`)
    console.log(`\nPublished by these commands, where their credentials are:\n\n${commands.join("")}`)
    return
  }
  const heading = changelogHeading(version, today).trim()
  if (!isInChangelog(ROOT))
    console.log(`\nUnreleased becomes "${heading}" by: npm run release -- --prepare ${version}`)
  console.log("\nA dry run: nothing was published, and the key of the signature was thrown away.")
}

/** Makes everything in a folder from the files of a commit. @param installed a folder whose packages it takes */
async function make(
  { commit, epoch, buildah, pulls }: Making,
  source: string,
  out: string,
  installed?: string,
): Promise<void> {
  mkdirSync(source)
  mkdirSync(out, { recursive: true })
  const files = `${source}.tar`
  await outputOf(["git", "archive", "--output", files, commit], { cwd: ROOT })
  await outputOf(["tar", "-xf", files, "-C", source])
  const problems = versionProblems(source)
  if (problems.length > 0) throw new Error(problems.join("\n"))
  const version = versionOf(source)
  const named = (rest: string): string => join(out, `hookline-${version}${rest}`)

  const folder = dirname(source)
  if (!pulls && installed === undefined) await makeBaseImage(source, buildah, folder)
  await packageChart(source, join(out, `hookline-chart-${version}.tgz`))
  const image = { buildah, folder, epoch, pulls }
  await writeImage(source, image, `hookline:${version}`, named(`-image-linux-${process.arch}.tar`))
  const install = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"]
  if (installed === undefined) await outputOf(install, { cwd: source })
  else renameSync(join(installed, "node_modules"), join(source, "node_modules"))
  await outputOf(["npm", "pack", "--silent", "--pack-destination", out], { cwd: source })
  for (const target of Object.keys(TARGETS)) {
    const binary = named(`-${target}`)
    await buildBinary(source, target, binary, CACHE)
    if (target in DEBIAN_ARCHITECTURES) await buildDebianPackage(source, { target, binary }, out, epoch)
  }
  copyFileSync(join(source, "sbom.cdx.json"), named(".cdx.json"))

  const host = named(`-${process.platform}-${process.arch}`)
  const printed = (await outputOf([host, "--version"])).trim()
  if (printed !== version)
    throw new Error(`hookline --version prints ${printed}, package.json has ${version}`)
}

const digests = new Map<string, string>()
const digestOf = (file: string): string =>
  digests.getOrInsertComputed(file, () => createHash("sha256").update(readFileSync(file)).digest("hex"))

function compare(out: string, again: string): void {
  const names = readdirSync(out)
  if (!Bun.deepEquals(names.toSorted(), readdirSync(again).toSorted())) throw new Error("not the same files")
  const different = names.filter((name) => digestOf(join(out, name)) !== digestOf(join(again, name)))
  if (different.length > 0) throw new Error(`made twice, these differ: ${different.join(", ")}`)
}

/** Writes the checksums of all files and their signature, and verifies both as docs/releasing.md has users do. */
async function sign(out: string, version: string, key: string): Promise<void> {
  const sums = readdirSync(out)
    .toSorted()
    .map((name) => `${digestOf(join(out, name))}  ${name}\n`)
  writeFileSync(join(out, SUMS), sums.join(""))
  const comment = ["-t", `hookline ${version}`]
  await onTerminal(["minisign", "-S", "-s", key, "-m", SUMS, ...comment], out)
  // users have the public half from elsewhere
  await onTerminal(["minisign", "-R", "-s", key, "-p", "minisign.pub"], out)
  await outputOf(["minisign", "-V", "-p", "minisign.pub", "-m", SUMS], { cwd: out })
  await outputOf(["sha256sum", "--check", "--strict", SUMS], { cwd: out })
}

/** Runs a command that may ask for a password. */
async function onTerminal(command: readonly string[], cwd: string): Promise<void> {
  const status = await Bun.spawn([...command], { cwd, stdio: ["inherit", "inherit", "inherit"] }).exited
  if (status !== 0) throw new Error(`${command.slice(0, 2).join(" ")} ended with ${status}`)
}

async function throwAwayKey(folder: string): Promise<string> {
  const key = join(folder, "throw-away.key")
  await outputOf(["minisign", "-G", "-W", "-p", join(folder, "throw-away.pub"), "-s", key])
  return key
}

function list(out: string): void {
  for (const name of readdirSync(out).toSorted()) {
    const { size } = Bun.file(join(out, name))
    console.log(`${name.padEnd(40)} ${`${size}`.padStart(12)}  ${digestOf(join(out, name))}`)
  }
}

/** Why this commit can't be released. */
async function reasonsAgainst(version: string): Promise<string[]> {
  const changed = await outputOf(["git", "status", "--porcelain"], { cwd: ROOT })
  const tags = (await outputOf(["git", "tag", "--points-at", "HEAD"], { cwd: ROOT })).split("\n")
  const key = process.env[KEY_VARIABLE]
  return [
    changed === "" ? [] : "files are changed that are not committed",
    tags.includes(`v${version}`) ? [] : `the last commit has no tag v${version}`,
    isInChangelog(ROOT)
      ? []
      : `CHANGELOG.md does not begin with ${version}: npm run release -- --prepare ${version}`,
    key !== undefined && existsSync(key)
      ? []
      : `${KEY_VARIABLE} does not name the file of a secret key of minisign`,
  ].flat()
}

/** Writes the version to all files that have it. */
async function prepare(version: string, date: string): Promise<void> {
  if (!/^\d+\.\d+\.\d+$/.test(version)) throw new Error(`${version} is no version of a release, as 0.2.0 is`)
  const npm = ["npm", "version", "--no-git-tag-version", "--allow-same-version", "--ignore-scripts", version]
  await outputOf(npm, { cwd: ROOT })
  prepareVersion(ROOT, version, date)
  await outputOf(["npm", "run", "docs"], { cwd: ROOT })
  console.log(await outputOf(["git", "diff", "--stat"], { cwd: ROOT }))
  console.log(`Next: git commit -am "Version ${version}" && git tag v${version} && npm run release`)
}

function publishing(out: string, version: string): string[] {
  const image = join(out, `hookline-${version}-image-linux-${process.arch}.tar`)
  return [
    `git push origin v${version}`,
    `npm publish --access public ${join(out, `hookline-${version}.tgz`)}`,
    `buildah pull docker-archive:${image}`,
    `buildah push --format v2s2 localhost/hookline:${version} docker://$REGISTRY/hookline:${version}`,
    `helm push ${join(out, `hookline-chart-${version}.tgz`)} oci://$REGISTRY/charts`,
    `# with a key of cosign's: cosign sign --key cosign.key --tlog-upload=false $REGISTRY/hookline:${version}`,
    `# and all files of ${out} to where they are downloaded`,
  ]
}

await main().catch((error: Error) => {
  console.error(error.message)
  process.exit(1)
})
