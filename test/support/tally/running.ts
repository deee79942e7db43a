import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { ExtensionState } from "../../../src/admin/extension-state.ts"
import type { Finding } from "../../../src/admin/problems/finding.ts"
import type { Host, PipelineHost, PipelineJoin } from "../../../src/extensions/host.ts"
import { sectionFolder } from "../../../src/extensions/owned-section.ts"
import type { PipelineView } from "../../../src/extensions/sections.ts"

export interface PlannedTally {
  readonly id: string
  readonly directory: string | undefined
  readonly pipeline: PipelineView
}

export const open = (planned: readonly PlannedTally[], host: Host): Tallies =>
  new Tallies(planned.map((it) => [it, acquire(it, host)]))

export function joins(
  all: readonly PlannedTally[],
  pipeline: string,
  host: PipelineHost,
): PipelineJoin | undefined {
  const planned = all.find((it) => it.pipeline.id === pipeline)
  if (planned === undefined) return undefined
  return {
    config: fileOf(planned, host),
    wrap(handler) {
      const tally = acquire(planned, host)
      return {
        ...handler,
        async handle(event, limits) {
          const outcome = await handler.handle(event, limits)
          tally.add()
          return outcome
        },
      }
    },
  }
}

/** The same for the pipeline and the section, and another one where the path of the pipeline changes. */
const acquire = (planned: PlannedTally, host: PipelineHost): Tally =>
  host.acquire({
    name: `tally ${planned.id}`,
    config: [fileOf(planned, host), planned.pipeline.source.values["path"]],
    open: () => new Tally(fileOf(planned, host)),
  })

function fileOf({ id, directory }: PlannedTally, { baseDir, connections }: PipelineHost): string {
  const [first = ""] = connections.keys()
  return join(directory ?? sectionFolder(connections.get(first), baseDir), `tally-${id}.txt`)
}

class Tally {
  readonly #file: string
  readonly opened = crypto.randomUUID()
  events: number

  constructor(file: string) {
    this.#file = file
    this.events = existsSync(file) ? Number(readFileSync(file, "utf8")) : 0
  }

  add(): void {
    writeFileSync(this.#file, `${++this.events}`)
  }
}

export class Tallies implements ExtensionState {
  readonly #all: readonly (readonly [PlannedTally, Tally])[]

  constructor(all: readonly (readonly [PlannedTally, Tally])[]) {
    this.#all = all
  }

  *problems(): Iterable<Finding> {}

  rows() {
    return this.#all.map(([{ id, pipeline }, { events, opened }]) => ({
      id,
      pipeline: pipeline.id,
      events,
      opened,
    }))
  }
}
