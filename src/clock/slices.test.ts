import { expect, test } from "bun:test"
import { atOnce, inSlices, type Steps } from "./slices.ts"

/** Steps that each hold the event loop for some milliseconds. */
function* steps(count: number, ms: number, done: string[] = []): Steps<string> {
  try {
    for (let n = 1; n <= count; n++) {
      const endsMs = performance.now() + ms
      while (performance.now() < endsMs);
      done.push(`step ${n}`)
      yield
    }
    return "result"
  } finally {
    done.push("closed")
  }
}

test("at once: all steps run in one turn of the event loop", () => {
  const done: string[] = []
  expect(atOnce(steps(3, 0, done))).toBe("result")
  expect(done).toEqual(["step 1", "step 2", "step 3", "closed"])
})

test("in slices: the event loop runs between long steps, and short ones share a slice", async () => {
  const done: string[] = []
  const turn = (): void => {
    done.push("turn")
    if (!done.includes("closed")) setImmediate(turn)
  }
  setImmediate(turn)
  expect(await inSlices(steps(3, 6, done))).toBe("result")
  expect(done).toEqual(["step 1", "turn", "step 2", "turn", "step 3", "turn", "closed"])

  const short: string[] = []
  const turnOfShort = (): void => {
    short.push("turn")
    if (!short.includes("closed")) setImmediate(turnOfShort)
  }
  setImmediate(turnOfShort)
  await inSlices(steps(1000, 0, short))
  // a busy machine takes the processor away in the middle of a slice
  expect(short.filter((it) => it === "turn").length).toBeLessThan(100)
})

test("the promise resolves in the turn of the last slice", async () => {
  let turns = 0
  const turn = (): void => {
    turns++
    if (turns < 10) setImmediate(turn)
  }
  let atLast = -1
  setImmediate(turn)
  await inSlices(
    (function* () {
      yield* steps(2, 6)
      atLast = turns
    })(),
  )
  expect(turns).toBe(atLast)
  expect(atLast).toBeGreaterThan(0)
})

test("an abort between slices runs the work's finally blocks and throws the reason", async () => {
  const done: string[] = []
  const stopping = new AbortController()
  setImmediate(() => stopping.abort(new Error("stopping")))
  await expect(inSlices(steps(1000, 6, done), stopping.signal)).rejects.toThrow("stopping")
  expect(done).toEqual(["step 1", "closed"])
})

test("an error in a step is thrown", async () => {
  const failing = function* (): Steps<void> {
    yield
    throw new Error("wrong")
  }
  expect(() => atOnce(failing())).toThrow("wrong")
  await expect(inSlices(failing())).rejects.toThrow("wrong")
})

/** Work with a wait, and what it saw of it. */
function* waiting(wait: () => Promise<void>, seen: string[]): Steps<string> {
  try {
    yield wait
    seen.push("waited")
  } catch (error) {
    seen.push(String(error))
  } finally {
    seen.push("closed")
  }
  return "result"
}

test("a wait is awaited in slices, throws in the work what it rejects with, and is left out at once", async () => {
  const seen: string[] = []
  let waits = 0
  const wait = async (): Promise<void> => void waits++
  expect(atOnce(waiting(wait, seen))).toBe("result")
  expect(waits).toBe(0)
  expect(await inSlices(waiting(wait, seen))).toBe("result")
  expect(waits).toBe(1)
  expect(await inSlices(waiting(() => Promise.reject(new Error("no answer")), seen))).toBe("result")
  expect(seen).toEqual(["waited", "closed", "waited", "closed", "Error: no answer", "closed"])
})

test("a signal ends a wait that never ends", async () => {
  const seen: string[] = []
  const aborting = new AbortController()
  const ended = inSlices(
    waiting(() => new Promise(() => {}), seen),
    aborting.signal,
  )
  setImmediate(() => aborting.abort(new Error("stopping")))
  await expect(ended).rejects.toThrow("stopping")
  expect(seen).toEqual(["closed"])
})
