// Run by network.test.ts, in a network namespace of its own. Prints whether a machine can connect to another one, and to this
// process, while what one of them sends is dropped.
import { runToEnd } from "../support/child.ts"
import { HERE, Network, type Machine } from "./network.ts"

const PORT = 7000
/** An answer takes a millisecond, the first repetition of a lost packet a second. */
const SECONDS = "0.8"

await using network = await Network.open()
const [a, b] = [await network.machine("a"), await network.machine("b")]
const serve = `Bun.listen({ hostname: "0.0.0.0", port: ${PORT}, socket: { open(it) { it.write("x") }, data() {} } })`
await using server = Bun.spawn([...b.command, process.execPath, "-e", serve])
using _here = Bun.listen({
  hostname: HERE,
  port: PORT,
  socket: { open: (socket) => void socket.write("x"), data() {} },
})

const connects = async (from: Machine, address: string): Promise<boolean> => {
  const read = `exec 3<>/dev/tcp/${address}/${PORT} && head -c 1 <&3`
  const { stdout } = await runToEnd([...from.command, "timeout", SECONDS, "bash", "-c", read])
  return stdout === "x"
}

/** Connects again and again, since a busy machine may need longer: where it can't, this never ends. */
async function connectsAtLast(from: Machine, address: string): Promise<boolean> {
  while (!(await connects(from, address)));
  return true
}
const seen = async (reach = connectsAtLast): Promise<object> => ({
  other: await reach(a, b.address),
  here: await connectsAtLast(a, HERE),
})
const found: { [what: string]: object } = { open: await seen() }
for (const [what, from, to] of [
  ["requests", a, b],
  ["answers", b, a],
] as const) {
  const heal = await network.drop(from, to)
  found[what] = await seen(connects)
  await heal()
}
found["healed"] = await seen()
process.stdout.write(JSON.stringify(found))
server.kill()
