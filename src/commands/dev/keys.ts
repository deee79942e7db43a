import { isatty } from "node:tty"

/** What a key press asks for. */
export interface KeyActions {
  /** The body of the last event. */
  readonly body: () => void
  /** The page in a browser. */
  readonly open: () => void
  /** The last request again. */
  readonly resend: () => void
  /** What the keys do. */
  readonly help: () => void
  readonly end: () => void
}

export const KEYS_HELP = `b  the last event's body
r  the last request, sent again
o  the page, in a browser
q  end, as Ctrl-C does
`

const CTRL_C = "\u0003"
const CTRL_D = "\u0004"
const CTRL_Z = "\u001a"

/**
 * Reads single keys where standard input is a terminal. Ctrl-Z suspends the job as it does elsewhere, until the shell's `fg`.
 *
 * @returns gives the terminal back
 */
export function readKeys({ body, open, resend, help, end }: KeyActions): () => void {
  const { stdin } = process
  if (!stdin.isTTY) return () => {}
  let timer: Timer | undefined
  const suspend = (): void => {
    stdin.setRawMode(false)
    // all of the job, as the terminal does
    process.kill(0, "SIGTSTP")
    // without a shell that could continue it, as in a container, nothing is suspended
    timer = setTimeout(listen, 100)
  }
  const pressed = (keys: Buffer): void => {
    for (const key of keys.toString()) {
      if (key === "b" || key === " ") body()
      else if (key === "o") open()
      else if (key === "r") resend()
      else if (key === "?") help()
      // a raw terminal sends no signals
      else if (key === "q" || key === CTRL_C || key === CTRL_D) end()
      else if (key === CTRL_Z) suspend()
    }
  }
  const listen = (): void => void stdin.setRawMode(true)
  listen()
  stdin.on("data", pressed)
  process.on("SIGCONT", listen)
  return () => {
    clearTimeout(timer)
    stdin.off("data", pressed)
    process.off("SIGCONT", listen)
    // it may have been closed meanwhile
    if (isatty(stdin.fd)) stdin.setRawMode(false)
    stdin.pause()
  }
}
