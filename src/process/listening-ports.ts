import { readFileSync } from "node:fs"

/** The TCP sockets of this network, on Linux: proc_net_tcp(5). */
const TABLES = ["/proc/net/tcp", "/proc/net/tcp6"]
/** The state of a listening one. */
const LISTEN = "0A"

/** Whether any program listens on a port, on whatever address, without opening it; undefined: the system does not say. */
export function isListenedOn(port: number): boolean | undefined {
  const tables = TABLES.map(read)
  // without IPv6 there is no second table
  if (tables[0] === undefined) return undefined
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, "0")}`
  return tables.some((table = "") =>
    table.split("\n").some((row) => {
      const [, local, , state] = row.trim().split(/\s+/)
      return state === LISTEN && local!.endsWith(suffix)
    }),
  )
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, "latin1")
  } catch {
    return undefined
  }
}
