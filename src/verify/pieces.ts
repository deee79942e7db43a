import { Buffer } from "node:buffer"
import { headerBytes } from "../headers.ts"

/** Bytes in pieces; a string has a character for each byte, as values of headers have. Other text is put in as its bytes. */
export type Pieces = readonly (string | Uint8Array)[]

export const joined = (pieces: Pieces): Uint8Array =>
  Buffer.concat(pieces.map((piece) => (typeof piece === "string" ? headerBytes(piece) : piece)))

export type Algorithm = "sha1" | "sha256" | "sha512"
export type Encoding = "hex" | "base64" | "base64url"

/** Makes the HMAC (RFC 2104) of bytes. */
export type Mac = (pieces: Pieces, encoding: Encoding) => string
