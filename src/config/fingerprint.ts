import { readFileSync } from "node:fs"

/** Tells contents of files apart: each file, and what is in it; `unreadable` where that can't be told. */
export function fingerprints(
  files: readonly string[],
): readonly (readonly [file: string, content: string])[] {
  return files.map((file) => [file, fingerprint(file)] as const)
}

function fingerprint(file: string): string {
  try {
    return String(Bun.hash(readFileSync(file)))
  } catch {
    // whoever needs the content says why it can't be read
    return "unreadable"
  }
}
