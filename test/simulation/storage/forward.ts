import { Database } from "bun:sqlite"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { Trial } from "./trial.ts"
import { PositionDatabase } from "../../../src/replay/position-database.ts"
import { positionFile } from "../../../src/replay/positions.ts"
import { urlTarget } from "../../../src/replay/post.ts"
import type { ForwardSpec } from "../../../src/runtime/forward-specs.ts"
import { RunningForward } from "../../../src/runtime/forwards.ts"
import type { DatabaseLocation } from "../../../src/storage/database-file.ts"
import type { Outcome, Simulation } from "../simulation.ts"
import { activeWorld, type World } from "../world.ts"
import { ForwardedLog, placeOf, TOPIC, WHERE, type Appended } from "./forwarded-log.ts"
import { simulatedLog } from "./log.ts"
import { ModelBroker, RemoteLog } from "./remote-log.ts"
import { scenarioOf, type StorageScenario } from "./scenario.ts"
import { Target, TIMEOUT_MS } from "./target.ts"

const DEAD_LETTERS = "dead-letters"
const RETRIES = 2
const POISON = [422, 500] as const
const BACKOFFS_MS = 25_000

const targets = new WeakMap<World, Target>()
const realFetch = globalThis.fetch
Object.assign(globalThis, {
  fetch: (url: string | URL, init: RequestInit) =>
    (targets.get(activeWorld()!)?.fetch ?? realFetch)(url, init),
})

/** A log, a `[forward:…]` of it, and the target and dead letters that it delivers to: all of it fails. */
function run(scenario: StorageScenario): Outcome {
  const trial = new Trial<RunningForward>(scenario, ({ world }) => ({
    open({ disk: { folder } }) {
      const service = {
        openReader: () => Promise.resolve(source.reader()),
        openBroker: () => Promise.resolve(new ModelBroker(remote, () => () => {})),
      }
      const place = { location: locationIn(folder), connection: { kind: {}, values: {} } }
      const log = simulatedLog(world, folder)
      const forward = new RunningForward(spec, place as never, service as never, log)
      forward.start()
      return forward
    },
    ready: (forward) => forward.info().problem ?? true,
    close: (forward) => forward.close(),
    publish: () => {
      for (let n = 0; n < 3; n++) {
        const key = random.below(8) - 2
        // few enough that a window has others: by these a failing record is told from a failing target
        const poison = random.below(20) > 0 ? undefined : key < 0 ? random.pick(POISON) : 422
        source.append(key, poison, random.below(5) > 0)
      }
    },
    tryOut(succeeded, done) {
      if (source.all.every(isSettled)) succeeded()
      world.after(0, done)
    },
    recoveryMs: BACKOFFS_MS,
    remote: (state) => remote.set(state),
    peers(step) {
      target.state = step.target
      source.isDown = step.isLogDown
    },
    heal() {
      remote.set({ state: "up", lostAnswers: 0 })
      target.state = "up"
      target.isWell = true
      source.isDown = false
      // what fails alone is told from what fails with all by others that are accepted
      for (let atMs = 500; atMs < BACKOFFS_MS - 500; atMs += 500)
        world.after(atMs, () => void source.append(-1, undefined, true))
    },
    check: (folder, when) => checkPosition(locationIn(folder), when),
  }))
  const { world } = trial
  const { random } = trial
  const isPatient = random.below(3) > 0
  const concurrency = random.pick([1, 2, 4])
  const parkAfterMs = isPatient ? random.pick([1500, 600_000]) : Number.POSITIVE_INFINITY
  const deadLetters = random.pick([DEAD_LETTERS, DEAD_LETTERS, undefined])
  const source = new ForwardedLog(world, scenario.settings.partitions)
  const remote = new RemoteLog(world)
  const target = new Target(world, source, {
    concurrency,
    window: 16 * Math.max(1, concurrency / 2),
    refusals: isPatient ? undefined : RETRIES + 1,
    retries: RETRIES,
    parkAfterMs,
    failing: random.pick([0, 5, 20]),
  })
  targets.set(world, target)
  const spec: ForwardSpec = {
    id: "app",
    from: `log/${TOPIC}`,
    url: "http://127.0.0.1/",
    group: "app",
    begin: "beginning",
    where: [WHERE],
    onRefusal: "skip",
    deadLetters,
    locate: () => locationIn(""),
    openTarget: () => ({
      target: urlTarget(target.newRun(), {
        timeoutMs: TIMEOUT_MS,
        concurrency,
        patience: isPatient
          ? { refusals: Number.POSITIVE_INFINITY, parkAfterMs, retries: RETRIES }
          : { refusals: RETRIES + 1, retries: RETRIES },
      }),
    }),
  }

  const isParked = ({ record }: Appended): boolean =>
    deadLetters === undefined ||
    remote.records.some(({ headers }) => placeOfLetter(headers!) === placeOf(record))
  /** Accepted, parked, or none that is forwarded. */
  const isSettled = (one: Appended): boolean =>
    !one.isForwarded || target.acknowledged.has(one) || (target.refused.has(one) && isParked(one))

  /** Each record before the position was accepted, or is listed as refused and is among the dead letters. */
  const checkPosition = (location: DatabaseLocation, when: string): void => {
    if (!existsSync(location.file)) return
    new PositionDatabase(location).close()
    using db = new Database(location.file, { readonly: true })
    const all = db.query<{ partition: number; next: number }, []>("SELECT * FROM positions").all()
    const failures = new Set(
      db.query<{ partition: number; offset: number }, []>("SELECT * FROM failures").all().map(placeOf),
    )
    for (const { partition, next } of all)
      for (const one of source.partitions[partition]!.slice(0, next)) {
        const place = placeOf(one.record)
        if (!one.isForwarded || target.acknowledged.has(one)) continue
        if (!failures.has(place)) world.violate(`${when}: ${place} is neither accepted nor listed as refused`)
        else if (!target.refused.has(one)) world.violate(`${when}: ${place} is parked without a cause`)
        else if (!isParked(one)) world.violate(`${when}: ${place} is passed, and no dead letter`)
      }
    if (when !== "at the end") return
    for (const { partition, next } of all)
      if (next !== source.partitions[partition]!.length)
        world.violate(`the position of partition ${partition} is ${next}`)
  }

  return trial.run()
}

function placeOfLetter(headers: readonly (readonly [string, Uint8Array])[]): string {
  const valueOf = (name: string): number =>
    Number(Buffer.from(headers.find(([it]) => it === `hookline.errors.${name}`)![1]).toString())
  return placeOf({ partition: valueOf("partition"), offset: valueOf("offset") })
}

/** Next to the other files of a machine, whose disk has no folders. */
function locationIn(folder: string): DatabaseLocation {
  const location = positionFile(folder, "forward", "app")
  return { ...location, file: join(folder, "app.sqlite"), lockFile: join(folder, "app.lock") }
}

export const forward: Simulation<StorageScenario> = {
  name: "forward",
  scenarioOf: (seed) => scenarioOf("forward", seed),
  run,
}
