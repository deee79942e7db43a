/**
 * For how long a test waits for what has to come, in milliseconds: what takes longer hangs. Five minutes, so that no machine
 * is too busy for it. Time that grows with the square of a megabyte is longer, too.
 */
export const HANG_GUARD_MS = 300_000
