/**
 * A preload for `bun test --parallel`, which runs it before each file, with objects of that file alone: notes at the end of
 * the file what it has cost.
 */
import { afterAll } from "bun:test"
import { countCosts } from "./costs.ts"
import { note, thisFile } from "./tools.ts"

const cost = countCosts()
afterAll(() => void note({ file: thisFile(), ...cost() }))
