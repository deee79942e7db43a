/** The image of deploy/Dockerfile, built without a container engine. */
import { createHash } from "node:crypto"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { cp, mkdir } from "node:fs/promises"
import { join } from "node:path"
import { outputOf, runToEnd } from "../../test/support/child.ts"
import { makeRoot } from "../../test/support/machine.ts"

const DOCKERFILE = "deploy/Dockerfile"

/** Runs a command of buildah, with images of its own. */
export type Buildah = (command: string, ...args: readonly string[]) => Promise<string>

/** Keeps images and containers in a folder, apart from the machine's. @param env what buildah runs with */
export async function storageIn(
  folder: string,
  env: { readonly [name: string]: string | undefined } = process.env,
): Promise<Buildah> {
  const storage = ["--root", join(folder, "storage"), "--runroot", join(folder, "run"), "--storage-driver"]
  // not on every file system, but vfs copies everything for each layer
  const overlay = await runToEnd(["buildah", ...storage, "overlay", "info"])
  const driver = overlay.status === 0 ? "overlay" : "vfs"
  return (command, ...args) => outputOf(["buildah", ...storage, driver, command, ...args], { env })
}

/**
 * Makes the image that the Dockerfile starts from without a registry: of Debian's packages and this machine's Node.js.
 * Returns its name.
 */
export async function makeBaseImage(source: string, buildah: Buildah, folder: string): Promise<string> {
  const [, base = ""] = /^FROM (\S+) AS build$/m.exec(readFileSync(join(source, DOCKERFILE), "utf8")) ?? []
  const context = join(folder, "base")
  await mkdir(context)
  await makeRoot(join(context, "debian.tar"))
  const npm = (await outputOf(["npm", "root", "--global"])).trim()
  await cp(Bun.which("node")!, join(context, "node"), { dereference: true })
  await cp(join(npm, "npm"), join(context, "npm"), { recursive: true, dereference: true })
  writeFileSync(
    join(context, "Dockerfile"),
    `FROM scratch
ADD debian.tar /
COPY node /usr/local/bin/node
COPY npm /usr/local/lib/node_modules/npm
RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm
`,
  )
  const name = `docker.io/library/${base}`
  await buildah("bud", "--isolation", "chroot", "-t", name, context)
  return name
}

/**
 * Builds a checkout's image and writes it as an archive that `docker load` and `podman load` read: OCI's own form has no health
 * check. @param epoch the time of all its files, in seconds; @param folder for what the build needs; @param pulls whether the image
 * that it starts from is pulled, in place of the one of `makeBaseImage`
 */
export async function writeImage(
  source: string,
  { buildah, folder, epoch, pulls }: { buildah: Buildah; folder: string; epoch: number; pulls: boolean },
  name: string,
  archive: string,
): Promise<void> {
  // the packages are of where this machine gets them from
  const npmrc = join(folder, "npmrc")
  const settings = ["registry", "cafile"].map(async (key) => [
    key,
    (await outputOf(["npm", "config", "get", key])).trim(),
  ])
  const known = (await Promise.all(settings)).filter(([, value]) => value !== "null")
  writeFileSync(npmrc, known.map(([key, value]) => `${key}=${value}\n`).join(""))
  const cache = (await outputOf(["npm", "config", "get", "cache"])).trim()
  const volumes = [`${npmrc}:/root/.npmrc:ro`, "/etc/ssl/certs:/etc/ssl/certs:ro", `${cache}:/root/.npm`]
  const form = ["--isolation", "chroot", "--format", "docker", "--no-cache", "--timestamp", `${epoch}`]
  const flags = [...form, pulls ? "--pull" : "--pull-never", ...volumes.flatMap((volume) => ["-v", volume])]
  await buildah("bud", ...flags, "-f", join(source, DOCKERFILE), "-t", name, source)
  const pushed = join(folder, "pushed.tar")
  await buildah("push", "--quiet", name, `docker-archive:${pushed}:${name}`)
  await withoutBuild(pushed, archive)
  rmSync(pushed)
}

interface Configuration {
  container?: string
  container_config?: object
  readonly config: { Hostname?: string }
}

/** Rewrites an archive without what its configuration has of the container that built the image, which differs each time. */
export async function withoutBuild(from: string, archive: string): Promise<void> {
  const folder = mkdtempSync(`${from}-`)
  await outputOf(["tar", "-xf", from, "-C", folder])
  const read = (file: string): unknown => JSON.parse(readFileSync(join(folder, file), "utf8"))
  const [image] = read("manifest.json") as [{ Config: string; RepoTags: string[]; Layers: string[] }]
  const configuration = read(image.Config) as Configuration
  delete configuration.container
  delete configuration.container_config
  delete configuration.config.Hostname
  const text = JSON.stringify(configuration)
  const Config = `${createHash("sha256").update(text).digest("hex")}.json`
  writeFileSync(join(folder, Config), text)
  writeFileSync(join(folder, "manifest.json"), JSON.stringify([{ ...image, Config }]))
  const same = ["--mtime=@0", "--owner=0", "--group=0", "--numeric-owner", "--mode=0444"]
  const files = ["manifest.json", Config, ...image.Layers]
  await outputOf(["tar", "-C", folder, ...same, "-cf", archive, ...files])
  rmSync(folder, { recursive: true })
}
