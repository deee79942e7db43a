/**
 * Clock, timers and randomness of the world that runs, in the place of the program's own; the real ones while none runs.
 * To be imported before everything that may keep one of them: a process that simulates does nothing else.
 */
import { Random } from "../support/random.ts"
import { BEGINS_MS, MachineClocks, type SimulatedProcess } from "./simulated-process.ts"
import { activeWorld, type World } from "./world.ts"

const real = {
  setTimeout: globalThis.setTimeout,
  clearTimeout: globalThis.clearTimeout,
  setInterval: globalThis.setInterval,
  setImmediate: globalThis.setImmediate,
  now: Date.now,
  performanceNow: performance.now.bind(performance),
  random: Math.random,
  randomUUID: crypto.randomUUID.bind(crypto),
  getRandomValues: crypto.getRandomValues.bind(crypto),
}

/** The real event loop's next turn: unhandled rejections are reported in it. */
export const realTurn = (): Promise<void> => new Promise((resolve) => real.setImmediate(resolve))

/** What setTimeout, setInterval and setImmediate return. */
class SimulatedTimer {
  readonly #world: World
  readonly #process: SimulatedProcess | undefined
  readonly #run: () => void
  readonly #ms: number
  #event: ReturnType<World["after"]>

  constructor(world: World, run: () => void, ms: number, repeats: boolean) {
    this.#world = world
    this.#process = world.current
    this.#ms = ms
    this.#run = repeats
      ? () => {
          this.refresh()
          run()
        }
      : run
    this.#event = world.after(ms, this.#run, this.#process)
  }

  refresh(): this {
    this.#world.cancel(this.#event)
    this.#event = this.#world.after(this.#ms, this.#run, this.#process)
    return this
  }

  close(): void {
    this.#world.cancel(this.#event)
  }

  ref = (): this => this
  unref = (): this => this
  hasRef = (): boolean => true
}

type Callback = (...given: unknown[]) => void

function start(kind: "setTimeout" | "setInterval" | "setImmediate") {
  const otherwise = real[kind] as (...given: unknown[]) => unknown
  return (run: Callback, ...rest: unknown[]): unknown => {
    const world = activeWorld()
    if (world === undefined) return otherwise(run, ...rest)
    // an immediate comes after what is due; a timer of less than a millisecond takes one
    const ms = kind === "setImmediate" ? IMMEDIATE_MS : Math.max(1, Number(rest.shift() ?? 1) || 1)
    return new SimulatedTimer(world, rest.length === 0 ? run : () => run(...rest), ms, kind === "setInterval")
  }
}

/** What a turn of the event loop takes. */
const IMMEDIATE_MS = 0.02

function stop(timer: unknown): void {
  if (timer instanceof SimulatedTimer) timer.close()
  else real.clearTimeout(timer as Timer)
}

const random = (world: World): Random => world.randomOf("globals")

function randomBytes<T extends ArrayBufferView | null>(into: T): T {
  const world = activeWorld()
  if (world === undefined || into === null) return real.getRandomValues(into as never) as T
  const bytes = new Uint8Array(into.buffer, into.byteOffset, into.byteLength)
  for (let at = 0; at < bytes.length; at++) bytes[at] = random(world).below(256)
  return into
}

function randomUUID(): string {
  if (activeWorld() === undefined) return real.randomUUID()
  const hex = Buffer.from(randomBytes(new Uint8Array(16))).toString("hex")
  return hex.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12})$/, "$1-$2-4$3-a$4-$5")
}

Object.assign(globalThis, {
  setTimeout: start("setTimeout"),
  setInterval: start("setInterval"),
  setImmediate: start("setImmediate"),
  clearTimeout: stop,
  clearInterval: stop,
  clearImmediate: stop,
})
const realSleep = Bun.sleep
Object.assign(Bun, {
  sleep: (ms: number | Date) =>
    activeWorld() === undefined ? realSleep(ms) : new Promise((resolve) => setTimeout(resolve, Number(ms))),
})
const realTimeout = AbortSignal.timeout.bind(AbortSignal)
Object.assign(AbortSignal, {
  timeout(ms: number) {
    if (activeWorld() === undefined) return realTimeout(ms)
    const late = new AbortController()
    setTimeout(() => late.abort(new DOMException("The operation timed out.", "TimeoutError")), ms)
    return late.signal
  },
})
Date.now = () => {
  const world = activeWorld()
  if (world === undefined) return real.now()
  return Math.floor(world.current?.timeOfDayMs ?? BEGINS_MS + world.nowMs)
}
/** A machine that looks at the files of another one. */
const LOOKING = new MachineClocks()
Object.assign(globalThis, {
  simulatedUptime() {
    const world = activeWorld()
    return (world?.current?.clocks ?? LOOKING).uptime(world?.nowMs ?? real.performanceNow())
  },
})
Math.random = () => {
  const world = activeWorld()
  return world === undefined ? real.random() : random(world).next()
}
Object.defineProperty(performance, "now", { value: () => activeWorld()?.nowMs ?? real.performanceNow() })
// what is added to it must not differ from run to run
Object.defineProperty(performance, "timeOrigin", { value: BEGINS_MS })
Object.defineProperty(crypto, "randomUUID", { value: randomUUID })
Object.defineProperty(crypto, "getRandomValues", { value: randomBytes })
