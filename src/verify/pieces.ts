/** Bytes in pieces; text is UTF-8. */
export type Pieces = readonly (string | Uint8Array)[]

export const joined = (pieces: Pieces): Uint8Array =>
  Buffer.concat(pieces.map((piece) => (typeof piece === "string" ? Buffer.from(piece) : piece)))
