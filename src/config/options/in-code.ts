import type { Option, OptionSet } from "./option.ts"

/*
 * Options as code writes them: the same declarations under their names in camel case, `max_body_bytes` as `maxBodyBytes`.
 */

type CamelCase<K> = K extends `${infer First}_${infer Rest}` ? `${First}${Capitalize<CamelCase<Rest>>}` : K

// oxlint-disable-next-line no-explicit-any
type CodeOf<D> = D extends Option<any, infer C> ? C : never

/** The options that have neither a default nor may be left out. */
type RequiredKey<O extends OptionSet> = {
  // oxlint-disable-next-line no-explicit-any
  [K in keyof O]: O[K] extends Option<any, any, "required"> ? K : never
}[keyof O]

/** A set of options as code gives them. `undefined` counts as absent. */
export type OptionsInCode<O extends OptionSet> = {
  readonly [K in RequiredKey<O> as CamelCase<K>]: CodeOf<O[K]>
} & {
  readonly [K in Exclude<keyof O, RequiredKey<O>> as CamelCase<K>]?: CodeOf<O[K]> | undefined
}

/** A function's parameters that take a set of options: it can be left out where no option is required. */
export type OptionsArgument<O extends OptionSet> = [RequiredKey<O>] extends [never]
  ? [options?: OptionsInCode<O>]
  : [options: OptionsInCode<O>]

/**
 * Names a section as code writes it: `pipeline:payments:WebHookSource` is `pipeline "payments", webHookSource`.
 *
 * @param address as the file spells it; a connection may have its function as the last part, as a pipeline's component is
 */
export function sectionInCode(address: string): string {
  const [, kind, id, part] = /^(pipeline|connection|provider):(.*?)(?::(\w+))?$/s.exec(address) ?? []
  if (kind === undefined || id === undefined) return address
  const named = `${kind} ${JSON.stringify(id)}`
  return part === undefined ? named : `${named}, ${part[0]!.toLowerCase()}${part.slice(1)}`
}
