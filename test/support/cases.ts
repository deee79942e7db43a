/**
 * How many cases a property is tried with: all of them where HOOKLINE_CASES is `full`, as in CI, else a tenth, so that
 * the tests of a change take seconds.
 */
export function cases(full: number): number {
  return process.env.HOOKLINE_CASES === "full" ? full : Math.ceil(full / 10)
}
