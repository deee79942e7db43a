import { readFileSync } from "node:fs"
import { mkdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { outputOf, runToEnd } from "./child.ts"
import { ROOT } from "./documents.ts"
import { makeRoot } from "./machine.ts"
import { isPermitted } from "./tools.ts"

const TOOLS = ["buildah", "mmdebstrap", "setpriv", "unshare"]
const DOCKERFILE = join(ROOT, "deploy/Dockerfile")

/** Whether `buildImage` and `inContainer` can work here. */
export const canBuildImages = (): boolean =>
  isPermitted(TOOLS, ["unshare", "--mount", "mount", "--bind", "/usr", "/usr"])

/** An image as an engine sees it. */
export interface Image extends AsyncDisposable {
  /** Its file system. */
  readonly root: string
  readonly config: {
    readonly User: string
    readonly Env: readonly string[]
    readonly Entrypoint: readonly string[]
    readonly Cmd: readonly string[]
    readonly ExposedPorts: object
    readonly Volumes: object
    readonly StopSignal: string
    readonly Healthcheck: { readonly Test: readonly string[] }
  }
}

/**
 * Builds deploy/Dockerfile without an engine. Registries are not asked: the image that it starts from is made of Debian's
 * packages and this machine's Node.js.
 */
export async function buildImage(folder: string): Promise<Image> {
  const storage = ["--root", join(folder, "storage"), "--runroot", join(folder, "run"), "--storage-driver"]
  // not on every file system, but vfs copies everything for each layer
  const overlay = await runToEnd(["buildah", ...storage, "overlay", "info"])
  const driver = overlay.status === 0 ? "overlay" : "vfs"
  const buildah = async (command: string, ...args: readonly string[]): Promise<string> =>
    outputOf(["buildah", ...storage, driver, command, ...args])
  const [, base = ""] = /^FROM (\S+) AS build$/m.exec(readFileSync(DOCKERFILE, "utf8")) ?? []
  const context = join(folder, "base")
  await mkdir(context)
  await makeRoot(join(context, "debian.tar"))
  const npm = (await outputOf(["npm", "root", "--global"])).trim()
  await outputOf(["cp", "-r", "--dereference", Bun.which("node")!, join(npm, "npm"), context])
  await writeFile(
    join(context, "Dockerfile"),
    `FROM scratch
ADD debian.tar /
COPY node /usr/local/bin/node
COPY npm /usr/local/lib/node_modules/npm
RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm
`,
  )
  await buildah("bud", "--isolation", "chroot", "-t", `docker.io/library/${base}`, context)
  // the packages are of where this machine gets them from
  const npmrc = join(folder, "npmrc")
  const settings = ["registry", "cafile"].map(async (key) => [
    key,
    (await outputOf(["npm", "config", "get", key])).trim(),
  ])
  const known = (await Promise.all(settings)).filter(([, value]) => value !== "null")
  await writeFile(npmrc, known.map(([key, value]) => `${key}=${value}\n`).join(""))
  const volumes = ["-v", `${npmrc}:/root/.npmrc:ro`, "-v", "/etc/ssl/certs:/etc/ssl/certs:ro"]
  const cache = (await outputOf(["npm", "config", "get", "cache"])).trim()
  const build = [
    "--isolation",
    "chroot",
    "--pull-never",
    "--format",
    "docker",
    ...volumes,
    "-v",
    `${cache}:/root/.npm`,
  ]
  await buildah("bud", ...build, "-f", DOCKERFILE, "-t", "hookline:test", ROOT)
  const { Docker } = JSON.parse(await buildah("inspect", "--type", "image", "hookline:test")) as {
    Docker: { config: Image["config"] }
  }
  const container = (await buildah("from", "--pull-never", "hookline:test")).trim()
  return {
    root: (await buildah("mount", container)).trim(),
    config: Docker.config,
    async [Symbol.asyncDispose]() {
      await buildah("umount", "--all")
    },
  }
}

/**
 * The command that runs one of the image's as an engine does with a read-only root: by the image's user, without
 * capabilities, with /proc, /dev and these folders in it (by their paths there), of which those of `Volumes` are writable.
 */
export function inContainer(
  { root, config }: Image,
  folders: { readonly [path: string]: string },
  command: readonly string[],
): string[] {
  const [uid = "", gid = ""] = config.User.split(":")
  const mounts = Object.entries(folders).flatMap(([path, folder]) => [
    `mount --bind '${folder}' '${root}${path}'`,
    ...(path in config.Volumes ? [] : [`mount -o remount,bind,ro '${root}${path}'`]),
  ])
  const script = [
    `mkdir -p '${root}/proc' '${root}/dev'`,
    `mount --bind '${root}' '${root}'`,
    `mount -o remount,bind,ro '${root}'`,
    `mount --rbind /proc '${root}/proc'`,
    `mount --rbind /dev '${root}/dev'`,
    ...mounts,
    `exec chroot --userspec=${uid}:${gid} --groups= '${root}' "$@"`,
  ]
  const unprivileged = ["setpriv", "--no-new-privs"]
  return ["unshare", "--mount", ...unprivileged, "sh", "-euc", script.join("\n"), "sh", ...command]
}
