import type { Component } from "../components/define-component.ts"
import type { OnAnswer } from "../pipeline/outcome-log.ts"
import type { AdminOptions, ServiceOptions, TracesOptions } from "./typed-options.ts"

/** What concerns all pipelines of an application. */
export interface ApplicationOptions {
  /** Options as in `[service]`, in camel case. */
  readonly service?: ServiceOptions
  /** Options as in `[admin]`. An application without a file has no admin listener unless this is given. */
  readonly admin?: AdminOptions
  /**
   * Called for each request, refused ones included, before its answer is sent. It runs for every event: copy what is needed
   * of the request and the event, and return.
   */
  readonly onAnswer?: OnAnswer
  /** Called with each line of the log, JSON with its line break, in place of writing it to standard output. */
  readonly onLogLine?: (line: string) => void
  /** Options as in `[traces]`. */
  readonly traces?: TracesOptions
  /** Components that sections of the file may name, in addition to the built-in ones. */
  readonly components?: readonly Component[]
  /** @internal Whether refusals are logged, as they are not where `onAnswer` tells of them. Faults always are. Default: true. */
  readonly logsRequests?: boolean
  /** @internal What `${…}` in the file reads. Default: the process's environment. */
  readonly env?: { readonly [name: string]: string | undefined }
  /** @internal The files that the components were loaded from, each with its stamp then: a change needs a restart. */
  readonly modules?: ReadonlyMap<string, string>
}
