import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs"
import { join } from "node:path"
import { loadedDiskModel, type DiskModel, type Kept, type ModelledDisk } from "../../support/disk-model.ts"
import type { Random } from "../../support/random.ts"
import type { World } from "../world.ts"

let loaded: DiskModel | undefined
const model = (): DiskModel => (loaded ??= loadedDiskModel())

/** The folder of all runs of this program: in memory. */
const ROOT = mkdtempSync("/dev/shm/hookline-simulation-")
process.on("exit", () => rmSync(ROOT, { recursive: true, force: true }))

/** What a call takes beside an fsync. */
const CALL_MS = 0.01

/**
 * The disk of a machine: real files, written by real SQLite through the model of test/support/disk-model.c, which knows what
 * is durable. A call takes no real time; what it takes in the world follows from how many there were.
 */
export class SimulatedDisk {
  readonly folder: string
  readonly #base: string
  readonly #random: Random
  #disk: ModelledDisk
  #generation = 0

  constructor(world: World, name: string) {
    this.#base = join(ROOT, name)
    rmSync(this.#base, { recursive: true, force: true })
    this.folder = join(this.#base, "disk")
    this.#random = world.randomOf(`disk ${name}`)
    mkdirSync(this.folder, { recursive: true, mode: 0o700 })
    model().simulateSleep(true)
    this.#disk = this.#model()
  }

  get model(): ModelledDisk {
    return this.#disk
  }

  /** Measures what calls cost from now on, waits for locks included. */
  measure(): () => number {
    let { calls, syncs } = this.#disk
    model().sleptMs()
    let ms = 0
    return () => {
      ms += model().sleptMs() + (this.#disk.calls - calls) * CALL_MS
      for (; syncs < this.#disk.syncs; syncs++) ms += this.#syncMs()
      calls = this.#disk.calls
      return ms
    }
  }

  /** Bytes that its files take. */
  get usedBytes(): number {
    const files = readdirSync(this.folder).filter((name) => !name.endsWith("-shm"))
    return files.reduce(
      (sum, name) => sum + (statSync(join(this.folder, name), { throwIfNoEntry: false })?.size ?? 0),
      0,
    )
  }

  /** What a power cut would leave now, in a folder of its own. */
  copyAfterCut(kept: Kept): string {
    const target = this.#newFolder("cut")
    this.#disk.copy(target, kept, this.#random.below(2 ** 31))
    this.#copySparse(target)
    return target
  }

  /** The power fails: only what was durable is left, and of the rest what the kernel may have written. All files are closed. */
  cutPower(): void {
    const left = this.copyAfterCut(this.#random.pick(["none", "some", "all"]))
    this.#disk.remove()
    rmSync(this.folder, { recursive: true })
    renameSync(left, this.folder)
    this.#disk = this.#model()
    this.#disk.settle()
  }

  /**
   * Moves or copies all files out of the folder, but locks.
   *
   * @returns puts them in the place of what is there then; all of it is durable
   */
  takeFiles(take: "move" | "copy"): () => void {
    const moveFiles = (from: string, to: string, move = renameSync): void => {
      for (const name of readdirSync(from))
        if (name.includes(".sqlite")) move(join(from, name), join(to, name))
    }
    const away = this.#newFolder("away")
    moveFiles(this.folder, away, take === "move" ? renameSync : copyFileSync)
    return () => {
      moveFiles(this.folder, this.#newFolder("replaced"))
      moveFiles(away, this.folder)
      this.#disk.settle()
    }
  }

  /**
   * Copies databases with their WALs.
   *
   * @returns writes the copies over the files themselves, past whoever has them open; all of it is durable
   */
  copyFiles(): () => void {
    const copies = readdirSync(this.folder)
      .filter((name) => /\.sqlite(-wal)?$/.test(name))
      .map((name) => [join(this.folder, name), readFileSync(join(this.folder, name))] as const)
    return () => {
      for (const [path, bytes] of copies) if (existsSync(path)) writeFileSync(path, bytes)
      this.#disk.settle()
    }
  }

  /** Truncates each WAL to a share of its size, past whoever has it open. */
  truncateWals(share: number): void {
    for (const name of readdirSync(this.folder)) {
      const path = join(this.folder, name)
      if (name.endsWith(".sqlite-wal")) truncateSync(path, Math.floor(statSync(path).size * share))
    }
    this.#disk.settle()
  }

  remove(): void {
    this.#disk.remove()
    rmSync(this.#base, { recursive: true, force: true })
  }

  #model(): ModelledDisk {
    return model().add(this.folder, this.#newFolder("shadow"))
  }

  #newFolder(name: string): string {
    const folder = join(this.#base, `${name}-${this.#generation++}`)
    mkdirSync(folder, { mode: 0o700 })
    return folder
  }

  /** A spool's reserve is written past the model; its content is nothing that anyone reads. */
  #copySparse(target: string): void {
    for (const name of readdirSync(target)) {
      if (!name.endsWith(".reserve")) continue
      const { size = 0 } = statSync(join(this.folder, name), { throwIfNoEntry: false }) ?? {}
      truncateSync(join(target, name), size)
    }
  }

  /** Mostly a fraction of a millisecond, seldom a hundred. */
  #syncMs(): number {
    const at = this.#random.next()
    if (at < 0.9) return 0.2 + at
    return at < 0.99 ? 1 + (at - 0.9) * 100 : 10 + (at - 0.99) * 10_000
  }
}
