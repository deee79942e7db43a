import { expect, test } from "bun:test"
import { Resources, type Transaction } from "./resources.ts"
import { steadyMs } from "../clock/clock.ts"

/** Resources that record when they are opened and closed. */
function start() {
  const calls: string[] = []
  const resources = new Resources({
    error: (_fields: unknown, message?: string) => void calls.push(message!),
  })
  const acquire = (transaction: Transaction, name: string, config: unknown, below?: () => void): object =>
    transaction.acquire({
      name,
      config,
      open: () => {
        calls.push(`open ${name}`)
        below?.()
        return {}
      },
      close: () => void calls.push(`close ${name}`),
    })
  /** Commits a transaction that acquires these: name and config. */
  const change = async (
    acquired: readonly (readonly [string, unknown])[],
    unused = Promise.resolve(),
  ): Promise<object[]> => {
    const transaction = await resources.begin()
    const values = acquired.map(([name, config]) => acquire(transaction, name, config))
    transaction.commit(unused, 0)
    return values
  }
  return { resources, calls, acquire, change }
}

const turn = (): Promise<void> => new Promise(setImmediate)

test("what is acquired again with an equal config is the same instance", async () => {
  const { calls, change } = start()
  const config = (): unknown => [{ hosts: ["a", "b"], limit: Infinity, none: undefined }, "text"]
  const [first] = await change([["one", config()]])
  const [second] = await change([["one", config()]])
  await turn()
  expect(second).toBe(first!)
  expect(calls).toEqual(["open one"])
})

test("another config makes another instance, also where it differs in what is no plain data", async () => {
  const pairs: readonly (readonly [unknown, unknown])[] = [
    [1, 2],
    [[1], [1, 2]],
    [{ a: 1 }, { a: undefined }],
    [{ a: undefined }, { b: undefined }],
    [[], {}],
    [() => 1, () => 1],
    [new Map(), new Map()],
    [null, {}],
  ]
  for (const [before, after] of pairs) {
    const { calls, change } = start()
    const [first] = await change([["one", before]])
    const [second] = await change([["one", after]])
    await turn()
    expect(second).not.toBe(first!)
    expect(calls).toEqual(["open one", "open one", "close one"])
  }
})

test("what a commit retires is closed when nothing uses it, and not before", async () => {
  const { calls, change } = start()
  await change([["one", 1]])
  const { promise: unused, resolve } = Promise.withResolvers<void>()
  await change([], unused)
  await turn()
  expect(calls).toEqual(["open one"])
  resolve()
  await turn()
  expect(calls).toEqual(["open one", "close one"])
})

test("what is retired and acquired again before it is closed stays open", async () => {
  const { calls, change } = start()
  const [first] = await change([["one", 1]])
  const { promise: unused, resolve } = Promise.withResolvers<void>()
  await change([], unused)
  const [back] = await change([["one", 1]])
  resolve()
  await turn()
  expect(back).toBe(first!)
  expect(calls).toEqual(["open one"])
})

test("what its last event leaves while a transaction is under way is closed after it, or kept by it", async () => {
  for (const [end, acquiredAgain, expected] of [
    ["commit", true, ["open one"]],
    ["commit", false, ["open one", "close one"]],
    ["abort", true, ["open one", "close one"]],
  ] as const) {
    const { resources, calls, acquire, change } = start()
    await change([["one", 1]])
    const { promise: unused, resolve } = Promise.withResolvers<void>()
    await change([], unused)
    const transaction = await resources.begin()
    if (acquiredAgain) acquire(transaction, "one", 1)
    resolve()
    await turn()
    expect(calls).toEqual(["open one"])
    if (end === "commit") transaction.commit(Promise.resolve(), 0)
    else await transaction.abort()
    await turn()
    expect(calls).toEqual([...expected])
  }
})

test("a transaction begins when what is closing is closed", async () => {
  const calls: string[] = []
  const resources = new Resources({ error() {} })
  const { promise: closed, resolve } = Promise.withResolvers<void>()
  const first = await resources.begin()
  first.acquire({ name: "file", config: 1, open: () => ({}), close: () => closed })
  first.commit(Promise.resolve(), 0)
  const second = await resources.begin()
  second.commit(Promise.resolve(), 0)
  await turn()
  const third = resources.begin().then((it) => {
    calls.push("begun")
    return it
  })
  await turn()
  expect(calls).toEqual([])
  resolve()
  await (await third).abort()
  expect(calls).toEqual(["begun"])
})

test("an abort closes what the transaction opened, and leaves the rest", async () => {
  const { resources, calls, acquire, change } = start()
  const [first] = await change([["one", 1]])
  const transaction = await resources.begin()
  acquire(transaction, "one", 2)
  acquire(transaction, "two", 1)
  await transaction.abort()
  expect(calls).toEqual(["open one", "open one", "open two", "close one", "close two"])
  expect((await change([["one", 1]]))[0]).toBe(first!)
})

test("what is kept keeps its parts; what is opened anew acquires them again", async () => {
  const { resources, calls, acquire } = start()
  const round = async (pipeline: number, memory: number): Promise<void> => {
    const transaction = await resources.begin()
    acquire(transaction, "pipeline", pipeline, () => acquire(transaction, "memory", memory))
    transaction.commit(Promise.resolve(), 0)
  }
  await round(1, 1)
  await round(1, 2)
  await round(2, 1)
  await turn()
  expect(calls).toEqual(["open pipeline", "open memory", "open pipeline", "close pipeline"])
  await round(3, 2)
  await turn()
  expect(calls.slice(4)).toEqual(["open pipeline", "open memory", "close pipeline", "close memory"])
})

test("what two acquire is one, and stays while one of them does", async () => {
  const { resources, calls, acquire } = start()
  const round = async (names: readonly string[]): Promise<void> => {
    const transaction = await resources.begin()
    for (const name of names) acquire(transaction, name, 1, () => acquire(transaction, "store", 1))
    transaction.commit(Promise.resolve(), 0)
  }
  await round(["a", "b"])
  await round(["b"])
  await turn()
  expect(calls).toEqual(["open a", "open store", "open b", "close a"])
  await round([])
  await turn()
  expect(calls.slice(4)).toEqual(["close b", "close store"])
})

test("one that does not fit is not kept", async () => {
  const { resources } = start()
  const acquireOne = async (fits: boolean): Promise<object> => {
    const transaction = await resources.begin()
    const value = transaction.acquire({ name: "one", config: 1, open: () => ({}), fits: () => fits })
    transaction.commit(Promise.resolve(), 0)
    return value
  }
  const first = await acquireOne(true)
  expect(await acquireOne(true)).toBe(first)
  expect(await acquireOne(false)).not.toBe(first)
})

test("one name with two configs in a transaction is a mistake", async () => {
  const { change } = start()
  await expect(
    change([
      ["one", 1],
      ["one", 2],
    ]),
  ).rejects.toThrow("one is acquired with two configs")
})

test("closing gets the time until which it may continue: at a stop, and after a commit", async () => {
  const { resources } = start()
  const untils: number[] = []
  const change = async (config: number, drainMs: number): Promise<void> => {
    const transaction = await resources.begin()
    const close = (_: object, untilMs: number): void => void untils.push(untilMs)
    transaction.acquire({ name: "one", config, open: () => ({}), close })
    transaction.commit(Promise.resolve(), drainMs)
  }
  await change(1, 1000)
  const beforeMs = steadyMs()
  await change(2, 5000)
  await turn()
  expect(untils[0]).toBeWithin(beforeMs + 5000, steadyMs() + 5000 + 1)
  await resources.close(1234)
  expect(untils.slice(1)).toEqual([1234])
})

test("closing closes all, what is retired too, and rejects with the first failure", async () => {
  const { resources, calls, change, acquire } = start()
  await change([["retired", 1]])
  const transaction = await resources.begin()
  transaction.acquire({
    name: "broken",
    config: 1,
    open: () => ({}),
    close: () => Promise.reject(new Error("disk full")),
  })
  acquire(transaction, "last", 1)
  transaction.commit(new Promise(() => {}), 0)
  await expect(resources.close(0)).rejects.toThrow("disk full")
  expect(calls).toEqual(["open retired", "open last", "close last", "close retired"])
})

test("a failure to close what is retired is reported, and what waits for it continues", async () => {
  const { resources, calls, change } = start()
  const transaction = await resources.begin()
  transaction.acquire({
    name: "broken",
    config: 1,
    open: () => ({}),
    close: () => Promise.reject(new Error("x")),
  })
  transaction.commit(Promise.resolve(), 0)
  await change([])
  await (await resources.begin()).abort()
  expect(calls).toEqual(["broken could not be closed"])
})

test("what is to be done at the commit is done by it, in order, and not by an abort", async () => {
  const { resources } = start()
  const done: number[] = []
  const begin = async (numbers: readonly number[]): Promise<Transaction> => {
    const transaction = await resources.begin()
    for (const number of numbers) transaction.onCommit(() => void done.push(number))
    return transaction
  }
  await (await begin([1, 2])).abort()
  expect(done).toEqual([])
  ;(await begin([3, 4])).commit(Promise.resolve(), 0)
  expect(done).toEqual([3, 4])
})

test("an abort that can't close what was opened is logged, and ends the transaction", async () => {
  const { resources, calls, change } = start()
  const transaction = await resources.begin()
  transaction.acquire({
    name: "stuck",
    config: 1,
    open: () => ({}),
    close: () => Promise.reject(new Error("no")),
  })
  await transaction.abort()
  expect(calls).toEqual(["stuck could not be closed"])
  await change([["one", 1]])
  expect(calls).toEqual(["stuck could not be closed", "open one"])
})
