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

/** `max_body_bytes` as code writes it: `maxBodyBytes`. */
export const camelCase = (key: string): string =>
  key.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())

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

/**
 * Rewrites a message on options, which are named as the file names them: `add tls_key = <a PEM file>` becomes
 * `add tlsKey: <a PEM file>`, and `[service] max_in_flight_bytes` `service.maxInFlightBytes`. Quoted values stay.
 */
export function messageInCode(text: string): string {
  return text
    .replaceAll(" (commas or lines)", "")
    .replace(
      /"(?:[^"\\]|\\.)*"|\[(service|admin|traces)\] |\b([a-z]\w*) = (\w[\w-]*(?:(?:, \w[\w-]*)* or \w[\w-]*)?)?|\b[a-z]+(?:_[a-z0-9]+)+\b/g,
      (found: string, section?: string, key?: string, value?: string) => {
        if (found.startsWith('"')) return found
        if (section !== undefined) return `${section}.`
        if (key === undefined) return camelCase(found)
        return `${camelCase(key)}: ${value === undefined || /^\d+$/.test(value) ? (value ?? "") : value.replaceAll(/[\w-]+(?=,| or |$)/g, (it) => JSON.stringify(it))}`
      },
    )
}
