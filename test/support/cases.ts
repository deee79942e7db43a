/** Whether every case is tried, as in CI; else a sample of them, so that the tests of a change take seconds. */
const IS_FULL = process.env.HOOKLINE_CASES === "full"

/** How many cases a property is tried with: all of them where HOOKLINE_CASES is `full`, else `few`, a tenth unless given. */
export const cases = (full: number, few = Math.ceil(full / 10)): number => (IS_FULL ? full : few)

/** All cases of a table where HOOKLINE_CASES is `full`, else that many of them, evenly spaced: the same ones in each run. */
export const someOf = <T>(all: readonly T[], count: number): readonly T[] =>
  IS_FULL || all.length <= count
    ? all
    : Array.from({ length: count }, (_, n) => all[Math.floor((n * all.length) / count)]!)
