/** A provider's event before signing, modelled on its documentation, with invented data. */
export interface Sample {
  /** Headers other than Content-Type and the signature's. */
  readonly headers?: { readonly [name: string]: string }
  /** Sent as JSON. */
  readonly body?: unknown
  /** Sent as a form, with JSON in parameters that are no texts. */
  readonly form?: { readonly [name: string]: unknown }
}
