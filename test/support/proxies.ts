import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { endingWithThisProcess, untilAnswers } from "./child.ts"
import { openSocket } from "./http-socket.ts"
import { freePort } from "./ports.ts"
import { hasTools } from "./tools.ts"

/** A proxy that runs before a server. */
export interface Proxy extends AsyncDisposable {
  readonly port: number
  readonly process: Bun.Subprocess
}

type Program = "nginx" | "haproxy" | "caddy"

/** A program that is a proxy, and how it is configured to keep strangers away from a path. */
export interface ProxyKind {
  readonly program: Program
  /** How the rule is written, for the tests' names. */
  readonly rule: string
  /** The configuration: listen on a port, pass on to another, refuse what is at or below `/private` with 403. */
  readonly configuration: (
    ports: { readonly listen: number; readonly server: number },
    folder: string,
  ) => string
}

/** The configuration of an nginx of a test's own around its http block. */
export const nginxWith = (http: string, folder: string): string => `
daemon off;
master_process off;
pid ${folder}/pid;
error_log stderr crit;
events {}
http {
  access_log off;
  ${["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((it) => `${it}_temp_path ${folder}/${it};`).join(" ")}
  ${http}
}
`

const nginx = (rule: string, pass: string): ProxyKind => ({
  program: "nginx",
  rule: `${rule}, ${pass}`,
  configuration: ({ listen, server }, folder) =>
    nginxWith(
      `server {
    listen 127.0.0.1:${listen};
    ${rule} { return 403; }
    location / { ${pass.replace("SERVER", `127.0.0.1:${server}`)} }
  }`,
      folder,
    ),
})

const haproxy = (rule: string): ProxyKind => ({
  program: "haproxy",
  rule,
  configuration: ({ listen, server }) => `
global
  maxconn 100
defaults
  mode http
  timeout connect 5s
  timeout client 5s
  timeout server 5s
frontend webhooks
  bind 127.0.0.1:${listen}
  http-request deny deny_status 403 if { ${rule} }
  default_backend hookline
backend hookline
  server hookline 127.0.0.1:${server}
`,
})

/** The rules that operators write. */
export const PROXIES: readonly ProxyKind[] = [
  nginx("location ^~ /private", "proxy_pass http://SERVER;"),
  nginx("location ^~ /private", "proxy_http_version 1.1; proxy_pass http://SERVER$request_uri;"),
  nginx("location ^~ /private", "proxy_pass http://SERVER/;"),
  nginx("location ~* ^/private", "proxy_set_header Host $host; proxy_pass http://SERVER;"),
  haproxy("path_beg /private"),
  haproxy("path_beg,url_dec -i /private"),
]

/** As `hasTools`. */
export const hasProxy = ({ program }: { readonly program: Program }): boolean => hasTools(program)

/** Starts a proxy before the server on a port of 127.0.0.1. */
export function startProxy(kind: ProxyKind, server: number): Promise<Proxy> {
  return runProxy(kind.program, (listen, folder) => kind.configuration({ listen, server }, folder))
}

/** Starts a proxy with a configuration that listens on the given port of 127.0.0.1. */
export async function runProxy(
  program: Program,
  configuration: (listen: number, folder: string) => string,
): Promise<Proxy> {
  const folder = await mkdtemp(join(tmpdir(), "hookline-proxy-"))
  const listen = await freePort()
  const file = join(folder, "configuration")
  await writeFile(file, configuration(listen, folder))
  const args = {
    nginx: ["-p", folder, "-c", file],
    haproxy: ["-db", "-f", file],
    caddy: ["run", "--adapter", "caddyfile", "--config", file],
  }
  const child = Bun.spawn(endingWithThisProcess(program, ...args[program]), {
    // Caddy keeps certificates there
    env: { ...process.env, HOME: folder, XDG_CONFIG_HOME: folder, XDG_DATA_HOME: folder },
    stdout: "ignore",
    stderr: "pipe",
  })
  const stop = async (): Promise<void> => {
    child.kill("SIGKILL")
    await child.exited
    await rm(folder, { recursive: true, force: true })
  }
  const listens = async (): Promise<boolean> => {
    using _ = await openSocket(listen)
    return true
  }
  try {
    await untilAnswers(child, listens, new Response(child.stderr).text())
  } catch (error) {
    await stop()
    throw error
  }
  return { port: listen, process: child, [Symbol.asyncDispose]: stop }
}
