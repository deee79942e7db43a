/** What a server knows of a request's connection; implemented by Bun's. */
export interface Peer {
  /** null: unknown. */
  requestIP(request: Request): { readonly address: string } | null
  timeout(request: Request, seconds: number): void
}

/** What Bun.serve passes to another server's `fetch`. Without an address the sender is `unknown`. */
export type MountingServer = Partial<Peer>
