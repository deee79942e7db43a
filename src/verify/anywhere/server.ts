/** `hookline/verify/server`: `verify` and `explain` for all senders, on Node.js, Bun and Deno. */
export * from "./verify.ts"
export * from "./explain.ts"
