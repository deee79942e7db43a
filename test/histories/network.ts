import { readlinkSync } from "node:fs"
import { endingWithThisProcess, runToEnd } from "../support/child.ts"
import { until } from "../support/kafka-options.ts"
import { hasTools } from "../support/tools.ts"

/** The address of this process on the network. */
export const HERE = "10.77.0.254"

/** A machine of its own to the network. */
export interface Machine {
  readonly name: string
  readonly address: string
  /** What runs a program there, as the same process. */
  readonly command: readonly string[]
}

/** Set in a process that has a network namespace of its own. */
const OWN_NETWORK = "HOOKLINE_OWN_NETWORK"
export const hasOwnNetwork = process.env[OWN_NETWORK] !== undefined

/**
 * What has to run a program for it to have a network namespace of its own, network_namespaces(7), or what is missing. All
 * that a `Network` makes is in there, and gone with its last process.
 */
export async function inOwnNetwork(): Promise<{ readonly command: readonly string[] } | { missing: string }> {
  if (!hasTools("unshare", "nsenter", "ip", "iptables")) return { missing: "no iproute2 or no iptables" }
  const tried = await runToEnd([
    "unshare",
    "--net",
    "iptables",
    "-A",
    "INPUT",
    "-s",
    "192.0.2.1",
    "-j",
    "DROP",
  ])
  if (tried.status !== 0) return { missing: `no network namespace can be made: ${tried.stderr.trim()}` }
  return { command: ["unshare", "--net", "env", `${OWN_NETWORK}=1`] }
}

/**
 * Machines on a switch, each a network namespace, joined to this process's own (`inOwnNetwork`). What one sends another can
 * be dropped, all or some, in one direction: the receiver never sees it, and the sender is told nothing.
 */
export class Network implements AsyncDisposable {
  readonly #holders: Bun.Subprocess[] = []

  static async open(): Promise<Network> {
    await run("ip", "link", "set", "lo", "up")
    await run("ip", "link", "add", SWITCH, "type", "bridge")
    await run("ip", "addr", "add", `${HERE}/24`, "dev", SWITCH)
    await run("ip", "link", "set", SWITCH, "up")
    return new Network()
  }

  async machine(name: string): Promise<Machine> {
    const holder = Bun.spawn(endingWithThisProcess("unshare", "--net", "sleep", "infinity"))
    this.#holders.push(holder)
    const { pid } = holder
    const namespaceOf = (process: number | "self"): string => readlinkSync(`/proc/${process}/ns/net`)
    await until("a namespace of its own", () => namespaceOf(pid) !== namespaceOf("self"))
    const command = ["nsenter", `--net=/proc/${pid}/ns/net`, "--"]
    const at = this.#holders.length
    const machine = { name, address: `10.77.0.${at}`, command }
    await run("ip", "link", "add", `port${at}`, "type", "veth", "peer", "name", "eth0", "netns", `${pid}`)
    await run("ip", "link", "set", `port${at}`, "master", SWITCH, "up")
    await run(...command, "ip", "link", "set", "lo", "up")
    await run(...command, "ip", "addr", "add", `${machine.address}/24`, "dev", "eth0")
    await run(...command, "ip", "link", "set", "eth0", "up")
    return machine
  }

  /**
   * Drops packets from one machine to another.
   *
   * @param share of them, up to 1
   * @returns what lets them pass again
   */
  async drop(from: Machine, to: Machine, share = 1): Promise<() => Promise<void>> {
    const some = share === 1 ? [] : ["-m", "statistic", "--mode", "random", "--probability", `${share}`]
    const rule = ["INPUT", "-s", from.address, ...some, "-j", "DROP"]
    const iptables = [...to.command, "iptables", "--wait"]
    await run(...iptables, "--append", ...rule)
    return () => run(...iptables, "--delete", ...rule)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const holder of this.#holders) holder.kill("SIGKILL")
    await Promise.all(this.#holders.map((holder) => holder.exited))
  }
}

const SWITCH = "switch"

async function run(...command: readonly string[]): Promise<void> {
  const { status, stderr } = await runToEnd(command)
  if (status !== 0) throw new Error(`${command.join(" ")}: ${stderr.trim()}`)
}
