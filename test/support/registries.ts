/**
 * Registries on 127.0.0.1 that a release is published to: Debian's docker-registry, for images and charts, by TLS, so that
 * commands need no flag for a local one; Verdaccio, for npm packages.
 */
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { makeCertificate } from "./certificate.ts"
import { endingWithThisProcess, outputOf, untilAnswers } from "./child.ts"
import { DEPLOY_TOOLS } from "./deploy-tools.ts"
import { freePort } from "./ports.ts"
import { hasTools } from "./tools.ts"

/** Beside the installed packages, as what other tests fetch. */
const CACHE = join(import.meta.dir, "../../node_modules/.cache/hookline-registries")
/** The newest that Node.js 20 runs; one of its packages wants `node-fetch@cjs`, which npm no longer has. */
const VERDACCIO = { dependencies: { verdaccio: "6.8.0" }, overrides: { "node-fetch": "2.7.0" } }
/** Helm's own code, as a Python package has it, with the words of its command line. */
const HELM = `#!/usr/bin/env python3
import sys
from helm_python.registry import pull, push

match sys.argv[1:]:
    case ["push", chart, remote]:
        push(chart, remote)
    case ["pull", chart, "--version", version]:
        pull(chart, version=version, destination=".")
`

/** As `hasTools`; npm fetches the other one. */
export const hasRegistries = (): boolean => hasTools("docker-registry")

export interface Registry extends AsyncDisposable {
  /** `127.0.0.1:15000`. */
  readonly host: string
  /** Variables with which clients use it. */
  readonly env: { readonly [name: string]: string }
}

/** Starts a registry of images and charts, which buildah and Helm trust, and ask for what is docker.io's. @param folder of its own */
export async function startImageRegistry(folder: string): Promise<Registry> {
  const host = `127.0.0.1:${await freePort()}`
  const { pem, privateKey } = makeCertificate("registry", { hosts: ["127.0.0.1"], nowMs: Date.now() })
  const [certificates, bin] = [join(folder, "certificates"), join(folder, "bin")]
  for (const made of [certificates, bin]) mkdirSync(made)
  const [certificate, key] = [join(certificates, "registry.pem"), join(folder, "key.pem")]
  writeFileSync(certificate, pem)
  writeFileSync(key, privateKey.export({ format: "pem", type: "pkcs8" }))
  writeFileSync(join(bin, "helm"), HELM, { mode: 0o755 })
  writeFileSync(join(folder, "registries.conf"), `[[registry]]\nprefix = "docker.io"\nlocation = "${host}"\n`)
  // works on every file system
  const storage = `driver = "vfs"\ngraphroot = "${folder}/images"\nrunroot = "${folder}/run"\n`
  writeFileSync(join(folder, "storage.conf"), `[storage]\n${storage}`)
  const configuration = {
    version: 0.1,
    log: { level: "warn" },
    storage: { filesystem: { rootdirectory: join(folder, "data") } },
    http: { addr: host, tls: { certificate, key } },
  }
  writeFileSync(join(folder, "config.yml"), JSON.stringify(configuration))
  const server = await started(
    ["docker-registry", "serve", join(folder, "config.yml")],
    `https://${host}/v2/`,
    pem,
  )
  const env = {
    PATH: `${process.env["PATH"]}:${bin}`,
    PYTHONPATH: DEPLOY_TOOLS["PYTHONPATH"]!,
    SSL_CERT_DIR: certificates,
    CONTAINERS_REGISTRIES_CONF: join(folder, "registries.conf"),
    CONTAINERS_STORAGE_CONF: join(folder, "storage.conf"),
  }
  return { ...server, host, env }
}

/** Starts a registry of one npm package, with a user who may publish it. @param folder of its own */
export async function startPackageRegistry(folder: string): Promise<Registry> {
  const home = await fetchVerdaccio()
  const host = `127.0.0.1:${await freePort()}`
  const url = `http://${host}`
  const configuration = {
    storage: join(folder, "packages"),
    auth: { htpasswd: { file: join(folder, "htpasswd") } },
    packages: { hookline: { access: "$all", publish: "$authenticated" } },
    max_body_size: "100mb",
    log: { type: "stdout", format: "json", level: "warn" },
  }
  writeFileSync(join(folder, "config.yaml"), JSON.stringify(configuration))
  const program = ["node", join(home, "node_modules/verdaccio/bin/verdaccio")]
  const command = [...program, "--config", join(folder, "config.yaml"), "--listen", url]
  const server = await started(command, `${url}/-/ping`)
  const answer = await fetch(`${url}/-/user/org.couchdb.user:maintainer`, {
    method: "PUT",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ name: "maintainer", password: "obviously-fake-password" }),
  })
  const { token } = (await answer.json()) as { token: string }
  const npmrc = join(folder, "npmrc")
  writeFileSync(npmrc, `//${host}/:_authToken=${token}\n`)
  return { ...server, host, env: { npm_config_registry: url, npm_config_userconfig: npmrc } }
}

/** Starts a server; resolves once it answers. */
async function started(command: readonly string[], url: string, ca?: string): Promise<AsyncDisposable> {
  const child = Bun.spawn(endingWithThisProcess(...command), { stdout: "ignore", stderr: "pipe" })
  const init = ca === undefined ? {} : { tls: { ca } }
  await untilAnswers(child, async () => (await fetch(url, init)).ok, new Response(child.stderr).text())
  return {
    async [Symbol.asyncDispose]() {
      child.kill()
      await child.exited
    },
  }
}

async function fetchVerdaccio(): Promise<string> {
  const kept = join(CACHE, `verdaccio-${VERDACCIO.dependencies.verdaccio}`)
  if (existsSync(kept)) return kept
  mkdirSync(CACHE, { recursive: true })
  const fetching = mkdtempSync(join(CACHE, "fetching-"))
  try {
    writeFileSync(join(fetching, "package.json"), JSON.stringify({ private: true, ...VERDACCIO }))
    const flags = ["--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"]
    await outputOf(["npm", "install", ...flags], { cwd: fetching })
    renameSync(fetching, kept)
  } finally {
    rmSync(fetching, { recursive: true, force: true })
  }
  return kept
}
