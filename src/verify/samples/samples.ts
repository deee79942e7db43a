import type { ProviderRef } from "../presets/providers.ts"
import { sha256 } from "../crypto.ts"
import type { Sample } from "./sample.ts"
import samples from "./samples.json" with { type: "json" }

/** The variables of a sample event. */
export interface SampleEvent {
  /** A UUID. */
  readonly id: string
  /** From 1. */
  readonly number: number
  readonly atMs: number
}

/**
 * Placeholders of samples.json: a text may contain a variable of `fill`, or one with a number added, as in `{1000+number}`;
 * `=unix` as the whole text stands for a number.
 */
const { "*": GENERAL, ...byProvider } = samples

export const SAMPLES: { readonly [provider: string]: Sample } = byProvider

/** An unsigned sample event. */
export function sampleRequest(
  provider: ProviderRef | undefined,
  event: SampleEvent,
): { headers: Headers; body: Uint8Array } {
  const { headers: own, body, form } = fill(sampleOf(provider) ?? GENERAL, event)
  const headers = new Headers(own)
  headers.set("Content-Type", form === undefined ? "application/json" : "application/x-www-form-urlencoded")
  return { headers, body: Buffer.from(form === undefined ? JSON.stringify(body) : toForm(form)) }
}

export const hasSample = (provider: ProviderRef): boolean => sampleOf(provider) !== undefined

function sampleOf(provider: ProviderRef = ""): Sample | undefined {
  if (typeof provider !== "string") return provider.sample
  return Object.hasOwn(SAMPLES, provider) ? SAMPLES[provider] : undefined
}

function fill(sample: Sample, { id, number, atMs }: SampleEvent): Sample {
  const iso = new Date(atMs).toISOString()
  const unix = Math.floor(atMs / 1000)
  const hex = sha256([id], "hex")
  const variables: { readonly [name: string]: string | number } = {
    id,
    number,
    iso,
    gmt: iso.slice(0, 19),
    unix,
    ms: atMs,
    seconds: atMs / 1000,
    micros: String(number % 1_000_000).padStart(6, "0"),
    data: Buffer.from(JSON.stringify({ number })).toString("base64"),
  }
  const isVariable = (name: string): boolean =>
    name === "hex" || name === "HEX" || Object.hasOwn(variables, name)
  /** A number added to a variable, or the first digits of the id's hash. */
  const valueOf = (added: string | undefined, name: string, length: string): string | number => {
    if (name === "hex") return hex.slice(0, Number(length))
    if (name === "HEX") return hex.slice(0, Number(length)).toUpperCase()
    return added === undefined ? variables[name]! : Number(added) + Number(variables[name])
  }
  const fillText = (text: string): string | number => {
    const [, added, name] = /^=(?:(\d+)\+)?([a-z]+)$/.exec(text) ?? []
    if (name !== undefined && isVariable(name)) return valueOf(added, name, "")
    return text.replace(
      /\{(?:(\d+)\+)?([a-z]+|HEX)(\d*)\}/g,
      (found, added: string | undefined, name: string, length: string) =>
        isVariable(name) ? String(valueOf(added, name, length)) : found,
    )
  }
  return JSON.parse(JSON.stringify(sample), (_, value: unknown) =>
    typeof value === "string" ? fillText(value) : value,
  ) as Sample
}

function toForm(parameters: { readonly [name: string]: unknown }): string {
  const form = new URLSearchParams()
  for (const [name, value] of Object.entries(parameters))
    form.set(name, typeof value === "string" ? value : JSON.stringify(value))
  return form.toString()
}

/** A pipeline's path, or its URL, as one event is posted to it: it may end with a `*`. */
export const samplePath = (path: string): string => path.replace(/\*$/, "sample")
