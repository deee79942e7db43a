/** Schemas that the events of topics must match, from a registry. */
export interface TopicSchemas {
  /** The registry's, without credentials. */
  readonly url: string
  /** Names all topics that are published to; their schemas are fetched, and followed. Returns at once. */
  prepare(topics: readonly string[]): void
  /** The topics without a schema, so that nothing can be published to them. */
  missing(): readonly { readonly topic: string; readonly problem: string }[]
  /** Fetches the schemas of topics once, and says for each what was found, or why it is not usable. */
  reach(
    topics: readonly string[],
  ): Promise<readonly { readonly answer: string; readonly isUsable: boolean }[]>
}
