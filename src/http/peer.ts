/** What a server knows of a request's connection; implemented by Bun's. */
export interface Peer {
  /** null: unknown. */
  requestIP(request: Request): { readonly address: string } | null
  timeout(request: Request, seconds: number): void
}

/** What another server knows of a request: Bun's server itself, or the address that the connection comes from. */
export type MountedFrom =
  | (Pick<Peer, "requestIP"> & Partial<Peer>)
  | {
      /** undefined: the sender is `unknown`. */
      readonly remoteAddress: string | undefined
    }
