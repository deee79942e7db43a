import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { Target } from "./target.ts"

const folderOf = (name: string): string => join(import.meta.dir, "corpus", name)

/** The inputs that are kept for a target, and its seeds. */
export function corpusOf({ name, seeds }: Pick<Target, "name" | "seeds">): Uint8Array<ArrayBuffer>[] {
  const folder = folderOf(name)
  mkdirSync(folder, { recursive: true })
  const files = readdirSync(folder).toSorted()
  const kept = files.map((file) => new Uint8Array(readFileSync(join(folder, file))))
  return [...seeds.map((seed) => new Uint8Array(Buffer.from(seed as string))), ...kept]
}

/** Keeps these inputs, and no others beside the seeds. */
export function keep({ name, seeds }: Pick<Target, "name" | "seeds">, inputs: readonly Uint8Array[]): void {
  const folder = folderOf(name)
  const known = new Set(seeds.map((seed) => nameOf(Buffer.from(seed as string))))
  const wanted = new Map(inputs.map((input) => [nameOf(input), input]))
  for (const file of readdirSync(folder)) if (!wanted.has(file)) rmSync(join(folder, file))
  for (const [file, input] of wanted) if (!known.has(file)) writeFileSync(join(folder, file), input)
}

export const nameOf = (bytes: Uint8Array): string =>
  new Bun.CryptoHasher("sha1").update(bytes).digest("hex").slice(0, 12)
