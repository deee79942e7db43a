/**
 * What ends a wait for something that never comes, in milliseconds: no busy machine misses it. It is less than the five minutes of
 * a test (`run-tests.ts`), so that what waited says for what.
 */
export const HANG_MS = 280_000

/** What an event or record has until its deadline, in milliseconds, where it is to be acknowledged: no busy machine misses it. */
export const PATIENT_MS = 60_000
