/** For `bun test`: a guard against what hangs, for each test that has none of its own, which no busy machine misses. */
export const TEST_TIMEOUT = "--timeout=300000"

/**
 * What ends a wait for something that never comes, in milliseconds: no busy machine misses it. It is less than `TEST_TIMEOUT`, so
 * that what waited says for what.
 */
export const HANG_MS = 280_000

/** What an event or record has until its deadline, in milliseconds, where it is to be acknowledged: no busy machine misses it. */
export const PATIENT_MS = 60_000
