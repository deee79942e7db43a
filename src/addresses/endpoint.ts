import { isIP } from "node:net"
import ipaddr from "ipaddr.js"

/** A host and a port, as in `localhost:9092`, `192.0.2.7:80` or `[::1]:9464`. */
export interface EndpointOptions {
  /** A name or an address; an IPv6 one without its brackets. */
  readonly host: string
  readonly port: number
}

/** Reads host:port; undefined when it is malformed. Port 0 lets the system choose one to listen on. */
export function parseEndpoint(text: string): EndpointOptions | undefined {
  const [, v6, name, digits] = /^(?:\[([^\]]+)\]|([^\s:/[\]]+)):(\d{1,5})$/.exec(text) ?? []
  const port = Number(digits)
  if (!(port <= 65_535) || (v6 !== undefined && isIP(v6) !== 6)) return undefined
  return { host: v6 ?? name ?? "", port }
}

export function formatEndpoint({ host, port }: EndpointOptions): string {
  return isIP(host) === 6 ? `[${host}]:${port}` : `${host}:${port}`
}

/** Why an address can't be listened on, and what to do, from the system's error. */
export function listenFailure(
  endpoint: EndpointOptions,
  { code = "", message }: { readonly code?: string; readonly message: string },
): string {
  return `can't listen on ${formatEndpoint(endpoint)}: ${LISTEN_FAILURES[code]?.(endpoint) ?? message}`
}

/** Whether another program listens there, by the system's error. */
export const isInUse = ({ code }: { readonly code?: string }): boolean => code === "EADDRINUSE"

const LISTEN_FAILURES: { readonly [code: string]: (endpoint: EndpointOptions) => string } = {
  EADDRINUSE: ({ port }) => `the port is in use; stop what uses it${whatShowsIt(port)} or set another port`,
  EACCES: () => "no permission; ports below 1024 need root or CAP_NET_BIND_SERVICE",
  EADDRNOTAVAIL: () => "the host is not an address of this machine",
}

/** The command that shows what listens on a port, of those that this machine has. */
function whatShowsIt(port: number): string {
  const commands = ["ss -ltnp", `lsof -nP -iTCP:${port} -sTCP:LISTEN`, "netstat -ltnp"]
  const found = commands.find((it) => Bun.which(it.split(" ")[0]!) !== null)
  return found === undefined ? "" : ` (${found} shows it)`
}

/** Where this machine reaches a listener, also one on all its addresses. */
export function reachable({ host, port }: EndpointOptions): EndpointOptions {
  if (host === "0.0.0.0") return { host: "127.0.0.1", port }
  return { host: isIP(host) === 6 && /^[0:]+$/.test(host) ? "::1" : host, port }
}

/** A host as the system binds it: equal keys are one address, however it is spelled. */
export function hostKey(host: string): string {
  // nearly all are IPv4 addresses as they should be spelled
  if (/^(?:[1-9]\d\d?|\d)(?:\.(?:[1-9]\d\d?|\d)){3}$/.test(host) && isIP(host) === 4) return host
  const name = host.toLowerCase()
  if (name === "localhost") return "127.0.0.1"
  return ipaddr.isValid(name) ? ipaddr.process(name).toString() : name
}

/** A path as requests arrive with it, non-ASCII characters escaped: equal keys are one path. */
export const pathKey = (path: string): string =>
  /^(?:\/[\w-]+)+$/.test(path) ? path : new URL(`http://host${path}`).pathname

/** Whether a host to listen on is reachable from this machine only. */
export function isLoopback(host: string): boolean {
  if (host === "127.0.0.1") return true
  if (host.toLowerCase() === "localhost") return true
  return ipaddr.isValid(host) && ipaddr.process(host).range() === "loopback"
}
