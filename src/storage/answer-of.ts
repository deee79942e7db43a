import { HooklineError } from "../errors.ts"
import type { DurableDatabase } from "./durable-database.ts"
import type { DurableWriter } from "./durable-writer.ts"

/** What an operation of a writer's database answers. @throws HooklineError `unavailable` if it failed, or another process has a lock */
export function answerOf<D extends DurableDatabase, K extends keyof D["operations"] & string>(
  writer: DurableWriter<D>,
  operation: K,
  ...args: Parameters<D["operations"][K]>
): Promise<ReturnType<D["operations"][K]>> {
  const { promise, resolve, reject } = Promise.withResolvers<ReturnType<D["operations"][K]>>()
  writer.do(operation, args, (answer) => {
    if (answer.kind === "done") return resolve(answer.value)
    reject(new HooklineError("unavailable", writer.problem ?? "its file is not open yet"))
  })
  return promise
}
