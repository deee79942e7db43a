import { statSync, type BigIntStats } from "node:fs"
import { stat } from "node:fs/promises"

/** What tells one content of a file from another without reading it; of a file that is not there, why not. */
export function stampOf(file: string): string {
  try {
    return describe(statSync(file, { bigint: true }))
  } catch (error) {
    return failure(error)
  }
}

/** As `stampOf`, without holding up the event loop. */
export async function lookAt(file: string): Promise<string> {
  try {
    return describe(await stat(file, { bigint: true }))
  } catch (error) {
    return failure(error)
  }
}

const describe = ({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string =>
  [dev, ino, size, mtimeNs, ctimeNs].join(" ")

const failure = (error: unknown): string => String((error as NodeJS.ErrnoException).code)
