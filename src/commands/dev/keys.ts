import { isatty } from "node:tty"

/** What a key press asks for. */
export interface KeyActions {
  /** The body of the last event. */
  readonly body: () => void
  readonly end: () => void
}

const CTRL_C = "\u0003"
const CTRL_D = "\u0004"

/** Reads single keys where standard input is a terminal. @returns gives the terminal back */
export function readKeys({ body, end }: KeyActions): () => void {
  const { stdin } = process
  if (!stdin.isTTY) return () => {}
  const pressed = (keys: Buffer): void => {
    for (const key of keys.toString()) {
      if (key === "b" || key === " ") body()
      // a raw terminal sends no signals
      else if (key === "q" || key === CTRL_C || key === CTRL_D) end()
    }
  }
  stdin.setRawMode(true)
  stdin.on("data", pressed)
  return () => {
    stdin.off("data", pressed)
    // it may have been closed meanwhile
    if (isatty(stdin.fd)) stdin.setRawMode(false)
    stdin.pause()
  }
}
