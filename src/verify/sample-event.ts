/** What tells one sample event from another. */
export interface SampleEvent {
  /** A UUID. */
  readonly id: string
  /** From 1. */
  readonly number: number
  readonly atMs: number
}

/** An event of a provider's as it is sent, before it is signed: shaped after its documentation, with data of nobody. */
export interface Sample {
  /** Headers beside Content-Type and those of the signature. */
  readonly headers?: (event: SampleEvent) => { readonly [name: string]: string }
  /** An object or list is sent as JSON, parameters as a form. */
  readonly body: (event: SampleEvent) => object | URLSearchParams
}

export type Samples = { readonly [provider: string]: Sample }

export const iso = ({ atMs }: SampleEvent): string => new Date(atMs).toISOString()
export const unix = ({ atMs }: SampleEvent): number => Math.floor(atMs / 1000)
/** Hexadecimal digits that are an event's own. */
export const hexOf = ({ id }: SampleEvent, length: number): string =>
  new Bun.CryptoHasher("sha256").update(id).digest("hex").slice(0, length)
