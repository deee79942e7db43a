import type { ActivitySample } from "../admin/history.ts"
import type { ExtensionState } from "../admin/service.ts"
import type { ResourceSpec } from "../pipeline/resource.ts"
import type { Gauge } from "../telemetry/gauges.ts"
import type { Logger } from "../telemetry/log.ts"

/*
 * An extension is what runs next to the pipelines, and is neither a step of an event nor a broker. It is one folder here, and one
 * line in registry.ts: nothing else names it.
 */

/** The configuration, as far as extensions read it. */
export interface ConfigurationView {
  readonly pipelines: readonly {
    readonly id: string
    readonly source: { readonly values: { readonly [key: string]: unknown } }
  }[]
}

/** The service that an extension runs in. */
export interface Host {
  readonly log: Pick<Logger, "warn" | "info">
  /** Opens what outlives reloads, within the start or reload under way. */
  acquire<T>(spec: ResourceSpec<T>): T
  /** Registers what begins with the commit of that start or reload; it must not throw. */
  onCommit(action: () => void): void
  /** Reads the counters of the pipelines. */
  activity(): Promise<ActivitySample>
}

/** An extension's declaration: `P` is one thing that it does, as planned; `R` is what runs. */
interface Declaration<P, R extends ExtensionState> {
  /** A word of the field: `silence`. */
  readonly name: string
  /** Finds what the configuration asks of it. Empty: nothing of it is loaded or opened. */
  plan(view: ConfigurationView): readonly P[]
  /** Imports what runs it. */
  load(): Promise<{ open(planned: readonly P[], host: Host): R }>
  /** Metrics that are read of what runs, at each scrape. */
  readonly gauges: readonly Gauge<R>[]
}

/** Opens an extension in a host, whose transaction may still be aborted: nothing begins before its commit. */
export type OpenExtension = (host: Host) => ExtensionState

/** An extension as the registry has it. */
export interface Extension {
  readonly name: string
  /** @returns undefined: the configuration asks nothing of it */
  prepare(view: ConfigurationView): Promise<OpenExtension | undefined>
  /** Its metrics. @param running undefined: it does not run now */
  gauges(running: () => ExtensionState | undefined): readonly Gauge<void>[]
}

export function defineExtension<P, R extends ExtensionState>({
  name,
  plan,
  load,
  gauges,
}: Declaration<P, R>): Extension {
  return {
    name,
    async prepare(view) {
      const planned = plan(view)
      if (planned.length === 0) return undefined
      const { open } = await load()
      return (host) => open(planned, host)
    },
    gauges: (running) =>
      gauges.map((gauge) => ({
        ...gauge,
        series() {
          // what this extension has opened
          const it = running() as R | undefined
          return it === undefined ? [] : gauge.series(it)
        },
      })),
  }
}
