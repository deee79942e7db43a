import { join } from "node:path"

/** A network to a broker that takes its time. */
export interface Delay {
  /** `host:port` where clients connect. */
  readonly address: string
  /** Says where it leads: `host:port`. */
  lead(target: string): void
  stop(): Promise<void>
}

/** Opens a delay of so many milliseconds each way, in a process of its own. */
export async function openDelay(ms: number): Promise<Delay> {
  const told = Promise.withResolvers<string>()
  const child = Bun.spawn([process.execPath, join(import.meta.dir, "delay-proxy.ts"), `${ms}`], {
    stdio: ["ignore", "inherit", "inherit"],
    ipc: (address: string) => told.resolve(address),
  })
  return {
    address: await told.promise,
    lead: (target) => child.send(target),
    async stop() {
      child.kill()
      await child.exited
    },
  }
}
