import { message, messageInFile } from "../../message.ts"
import type { FileText } from "../file/configuration-file.ts"
import { quote, WrongValue, type OptionSet, type ParseContext } from "./option.ts"
import { slipIn } from "./slips.ts"

/*
 * Values as code gives them or the file spells them, read by their options.
 */

/** Checks a value of code. A problem's message is free of what must not be printed. */
export function fromCode(option: OptionSet[string], value: unknown, context: ParseContext): unknown {
  try {
    return option.fromCode(value, context)
  } catch (error) {
    if (!(error instanceof WrongValue)) throw error
    return option.secret ? new WrongValue(error.unquoted ?? message`is not ${option.form}`) : error
  }
}

/** Reads a text of the file. A problem's message is free of what must not be printed; undefined: reported before. */
export function readText(
  option: OptionSet[string],
  { value: { text, quotable, fileCommas }, baseDir }: FileText,
  defined: ParseContext["defined"],
): unknown {
  if (text === undefined) return undefined
  if (text === "" && option.defaultText !== "") {
    const remedy = option.presence === "required" ? "" : ", or remove the key"
    return new WrongValue(message`is empty; expected ${option.form}${remedy}`)
  }
  try {
    return option.parse(text, { baseDir, defined, fileCommas })
  } catch (error) {
    if (!(error instanceof WrongValue)) throw error
    const context = { baseDir, defined, fileCommas }
    const isShown = quotable && !option.secret
    const wrong = isShown
      ? error.text
      : message`its value ${error.unquoted ?? message`is not ${option.form}`}`
    const slip = isShown
      ? slipIn(text, messageInFile(option.form), (other) => isAccepted(option, other, context))
      : undefined
    if (slip !== undefined) return new WrongValue(`${quote(text)} ${slip.what}; ${slip.remedy}`)
    return new WrongValue(text.includes("\n") ? message`${wrong} (indented lines continue a value)` : wrong)
  }
}

function isAccepted({ parse }: OptionSet[string], text: string, context: ParseContext): boolean {
  try {
    return text !== "" && (parse(text, context), true)
  } catch (error) {
    if (error instanceof WrongValue) return false
    throw error
  }
}
