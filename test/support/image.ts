import { storageIn } from "../../scripts/release/image.ts"
import { isPermitted } from "./tools.ts"

const TOOLS = ["buildah", "mmdebstrap", "setpriv", "unshare"]

/** Whether `openImage` and `inContainer` can work here. */
export const canOpenImages = (): boolean =>
  isPermitted(TOOLS, ["unshare", "--mount", "mount", "--bind", "/usr", "/usr"])

/** An image as an engine sees it. */
export interface Image extends AsyncDisposable {
  /** The digest of its configuration. */
  readonly id: string
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

/** Opens an image, `docker://127.0.0.1:15000/hookline:0.1.0`. @param folder for the storage; @param env what buildah runs with */
export async function openImage(
  name: string,
  folder: string,
  env: { readonly [name: string]: string | undefined },
): Promise<Image> {
  const buildah = await storageIn(folder, env)
  const id = (await buildah("pull", "--quiet", name)).trim()
  const { Docker } = JSON.parse(await buildah("inspect", "--type", "image", id)) as {
    Docker: { config: Image["config"] }
  }
  const container = (await buildah("from", "--pull-never", id)).trim()
  return {
    id,
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
  { root, config }: { readonly root: string; readonly config: Pick<Image["config"], "User" | "Volumes"> },
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
