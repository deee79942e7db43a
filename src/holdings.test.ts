import { expect, test } from "bun:test"
import { Holdings, type Changeover } from "./holdings.ts"
import { steadyMs } from "./steady-clock.ts"

/** Holdings of things that tell when they are opened and closed. */
function start() {
  const said: string[] = []
  const holdings = new Holdings((name) => void said.push(`failed ${name}`))
  const hold = (changeover: Changeover, name: string, wants: unknown, below?: () => void): object =>
    changeover.hold({
      name,
      wants,
      open: () => {
        said.push(`open ${name}`)
        below?.()
        return {}
      },
      close: () => void said.push(`close ${name}`),
    })
  /** Changes to these things: name and wants. */
  const change = async (
    wanted: readonly (readonly [string, unknown])[],
    unused = Promise.resolve(),
  ): Promise<object[]> => {
    const changeover = await holdings.begin()
    const things = wanted.map(([name, wants]) => hold(changeover, name, wants))
    changeover.commit(unused, 0)
    return things
  }
  return { holdings, said, hold, change }
}

const turn = (): Promise<void> => new Promise(setImmediate)

test("what is wanted again for equal wants stays the same instance", async () => {
  const { said, change } = start()
  const wants = (): unknown => [{ hosts: ["a", "b"], limit: Infinity, none: undefined }, "text"]
  const [first] = await change([["one", wants()]])
  const [second] = await change([["one", wants()]])
  await turn()
  expect(second).toBe(first!)
  expect(said).toEqual(["open one"])
})

test("other wants make another one, also where they differ in what is no plain data", async () => {
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
    const { said, change } = start()
    const [first] = await change([["one", before]])
    const [second] = await change([["one", after]])
    await turn()
    expect(second).not.toBe(first!)
    expect(said).toEqual(["open one", "open one", "close one"])
  }
})

test("what is not wanted any more is closed when nothing uses it, and not before", async () => {
  const { said, change } = start()
  await change([["one", 1]])
  const { promise: unused, resolve } = Promise.withResolvers<void>()
  await change([], unused)
  await turn()
  expect(said).toEqual(["open one"])
  resolve()
  await turn()
  expect(said).toEqual(["open one", "close one"])
})

test("what is wanted back before it was closed is taken back, and stays open", async () => {
  const { said, change } = start()
  const [first] = await change([["one", 1]])
  const { promise: unused, resolve } = Promise.withResolvers<void>()
  await change([], unused)
  const [back] = await change([["one", 1]])
  resolve()
  await turn()
  expect(back).toBe(first!)
  expect(said).toEqual(["open one"])
})

test("what is left by its last event while a change is under way is closed after it, or taken back by it", async () => {
  for (const [end, wantedAgain, expected] of [
    ["commit", true, ["open one"]],
    ["commit", false, ["open one", "close one"]],
    ["abort", true, ["open one", "close one"]],
  ] as const) {
    const { holdings, said, hold, change } = start()
    await change([["one", 1]])
    const { promise: unused, resolve } = Promise.withResolvers<void>()
    await change([], unused)
    const changeover = await holdings.begin()
    if (wantedAgain) hold(changeover, "one", 1)
    resolve()
    await turn()
    expect(said).toEqual(["open one"])
    if (end === "commit") changeover.commit(Promise.resolve(), 0)
    else await changeover.abort()
    await turn()
    expect(said).toEqual([...expected])
  }
})

test("a change begins when what is being closed is closed", async () => {
  const said: string[] = []
  const holdings = new Holdings(() => {})
  const { promise: closed, resolve } = Promise.withResolvers<void>()
  const first = await holdings.begin()
  first.hold({ name: "file", wants: 1, open: () => ({}), close: () => closed })
  first.commit(Promise.resolve(), 0)
  const second = await holdings.begin()
  second.commit(Promise.resolve(), 0)
  await turn()
  const third = holdings.begin().then((it) => {
    said.push("begun")
    return it
  })
  await turn()
  expect(said).toEqual([])
  resolve()
  await (await third).abort()
  expect(said).toEqual(["begun"])
})

test("a change that is aborted closes what it opened, and leaves the rest", async () => {
  const { holdings, said, hold, change } = start()
  const [first] = await change([["one", 1]])
  const changeover = await holdings.begin()
  hold(changeover, "one", 2)
  hold(changeover, "two", 1)
  await changeover.abort()
  expect(said).toEqual(["open one", "open one", "open two", "close one", "close two"])
  expect((await change([["one", 1]]))[0]).toBe(first!)
})

test("what is kept keeps what was held while it was opened; what is made anew asks for it again", async () => {
  const { holdings, said, hold } = start()
  const round = async (pipeline: number, memory: number): Promise<void> => {
    const changeover = await holdings.begin()
    hold(changeover, "pipeline", pipeline, () => hold(changeover, "memory", memory))
    changeover.commit(Promise.resolve(), 0)
  }
  await round(1, 1)
  await round(1, 2)
  await round(2, 1)
  await turn()
  expect(said).toEqual(["open pipeline", "open memory", "open pipeline", "close pipeline"])
  await round(3, 2)
  await turn()
  expect(said.slice(4)).toEqual(["open pipeline", "open memory", "close pipeline", "close memory"])
})

test("what two hold is one, and stays while one of them is wanted", async () => {
  const { holdings, said, hold } = start()
  const round = async (names: readonly string[]): Promise<void> => {
    const changeover = await holdings.begin()
    for (const name of names) hold(changeover, name, 1, () => hold(changeover, "store", 1))
    changeover.commit(Promise.resolve(), 0)
  }
  await round(["a", "b"])
  await round(["b"])
  await turn()
  expect(said).toEqual(["open a", "open store", "open b", "close a"])
  await round([])
  await turn()
  expect(said.slice(4)).toEqual(["close b", "close store"])
})

test("one that does not fit is not kept", async () => {
  const { holdings } = start()
  const hold = async (fits: boolean): Promise<object> => {
    const changeover = await holdings.begin()
    const thing = changeover.hold({ name: "one", wants: 1, open: () => ({}), fits: () => fits })
    changeover.commit(Promise.resolve(), 0)
    return thing
  }
  const first = await hold(true)
  expect(await hold(true)).toBe(first)
  expect(await hold(false)).not.toBe(first)
})

test("one name for two purposes in a change is a mistake", async () => {
  const { change } = start()
  await expect(
    change([
      ["one", 1],
      ["one", 2],
    ]),
  ).rejects.toThrow("one is held for two purposes")
})

test("what is closed is told until when it may go on: at a stop, and after a change", async () => {
  const { holdings } = start()
  const told: number[] = []
  const change = async (wants: number, drainMs: number): Promise<void> => {
    const changeover = await holdings.begin()
    const close = (_: object, untilMs: number): void => void told.push(untilMs)
    changeover.hold({ name: "one", wants, open: () => ({}), close })
    changeover.commit(Promise.resolve(), drainMs)
  }
  await change(1, 1000)
  const beforeMs = steadyMs()
  await change(2, 5000)
  await turn()
  expect(told[0]).toBeWithin(beforeMs + 5000, steadyMs() + 5000 + 1)
  await holdings.close(1234)
  expect(told.slice(1)).toEqual([1234])
})

test("closing closes all, what is leaving too, and tells the first failure", async () => {
  const { holdings, said, change, hold } = start()
  await change([["leaving", 1]])
  const changeover = await holdings.begin()
  changeover.hold({
    name: "broken",
    wants: 1,
    open: () => ({}),
    close: () => Promise.reject(new Error("no room")),
  })
  hold(changeover, "last", 1)
  changeover.commit(new Promise(() => {}), 0)
  await expect(holdings.close(0)).rejects.toThrow("no room")
  expect(said).toEqual(["open leaving", "open last", "close last", "close leaving"])
})

test("a failure to close what is not wanted any more is told, and what waits for it goes on", async () => {
  const { holdings, said, change } = start()
  const changeover = await holdings.begin()
  changeover.hold({ name: "broken", wants: 1, open: () => ({}), close: () => Promise.reject(new Error("x")) })
  changeover.commit(Promise.resolve(), 0)
  await change([])
  await (await holdings.begin()).abort()
  expect(said).toEqual(["failed broken"])
})
