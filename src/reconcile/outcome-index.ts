export interface OutcomeIndex {
  read(sinceMs: number): AsyncIterable<string>
}
