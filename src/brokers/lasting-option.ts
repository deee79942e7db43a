import { message } from "../message.ts"
import { custom, type Option } from "../config/options/option-types.ts"

/** An option of which `forever` (or `off`) is the absence of a limit: Infinity as its value. */
export function lasting<C>(limit: Option<number, C>, doc: string, reload: "live" | "reopen" = "live") {
  return custom<number, { doc: string; default: string; reload: "live" | "reopen" }, C | "forever">(
    message`forever, or ${limit.form}`,
    { default: "forever", reload, doc },
    (value, context) =>
      /^(?:forever|off)$/i.test(value) ? Number.POSITIVE_INFINITY : limit.parse(value, context),
    (given) =>
      given === "forever" || given === Number.POSITIVE_INFINITY
        ? Number.POSITIVE_INFINITY
        : limit.fromCode(given as C),
  )
}
