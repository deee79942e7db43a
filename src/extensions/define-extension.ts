import type { Command } from "commander"
import type { OptionSet } from "../config/options/option-types.ts"
import type { ExtensionState } from "../admin/extension-state.ts"
import type { ProblemKind } from "../admin/problems/finding.ts"
import type { Gauge } from "../telemetry/gauges.ts"
import type { CommandHost } from "./command-host.ts"
import type { Host, PipelineHost, PipelineJoin } from "./host.ts"
import type { KeptFiles } from "./kept-file.ts"
import type { PipelineView, Sections, SectionView } from "./sections.ts"

/*
 * An extension is what runs next to the pipelines, and is neither a step of an event nor a broker. It is one folder here, and one
 * line in registry.ts: nothing else names it.
 */

/** The configuration, as far as extensions read it. */
export interface ConfigurationView<O extends OptionSet = OptionSet> {
  /** The extension's own. */
  readonly sections: readonly SectionView<O>[]
  readonly pipelines: readonly PipelineView[]
}

/** The part of an extension that is loaded where the configuration asks something of it. */
export interface Running<P = unknown, R extends ExtensionState = ExtensionState> {
  /** Opens what was planned in a transaction that may still be aborted: nothing begins before its commit. */
  open(planned: readonly P[], host: Host): R
  /** Wraps the handler of a pipeline; undefined: it does not. */
  joins?(planned: readonly P[], pipeline: string, host: PipelineHost): PipelineJoin | undefined
}

/** An extension's declaration: `O` are the options of its sections, `P` is one thing that it does, `R` is what runs. */
interface Declaration<O extends OptionSet, P, R extends ExtensionState> {
  /** A word of the field, which its sections have, too: `silence`. */
  readonly name: string
  /** undefined: nothing is configured by itself */
  readonly sections?: Sections<O, P>
  /** Finds what the configuration asks of it. Empty: nothing of it is loaded or opened. */
  plan(view: ConfigurationView<O>): readonly P[]
  /** Imports what runs it. */
  load(): Promise<Running<P, R>>
  /** Metrics that are read of what runs, at each scrape. */
  readonly gauges: readonly Gauge<R>[]
  /** The kinds of problems that it finds, each with a section of the runbook. Default: none. */
  readonly problems?: readonly ProblemKind[]
  /** Declares its commands. Default: none. */
  commands?(program: Command, host: CommandHost<P>): void
  /** The files that it keeps on disk. Default: none. */
  readonly files?: readonly KeptFiles[]
}

/** An extension as the registry has it. */
export interface Extension {
  readonly name: string
  readonly sections: Sections | undefined
  plan(view: ConfigurationView): readonly unknown[]
  load(): Promise<Running>
  readonly files: readonly KeptFiles[]
  readonly problems: readonly ProblemKind[]
  commands(program: Command, host: CommandHost): void
  /** Its metrics. @param running undefined: it does not run now */
  gauges(running: () => ExtensionState | undefined): readonly Gauge<void>[]
}

export function defineExtension<O extends OptionSet, P, R extends ExtensionState>({
  sections,
  gauges,
  files = [],
  problems = [],
  commands,
  ...declared
}: Declaration<O, P, R>): Extension {
  return {
    ...(declared as Pick<Extension, "name" | "plan" | "load">),
    sections: sections as Sections | undefined,
    files,
    problems,
    commands: (program, host) => commands?.(program, host as CommandHost<P>),
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
