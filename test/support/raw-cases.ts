import { readAnswers, type Answers } from "./http-answers.ts"

/** What became of the bytes of one case. */
export interface Ending extends Answers {
  readonly number: number
  /**
   * closed: the server ended the connection. left: it answered or waited for more, and the sender went. hung: it was asked
   * to close, and neither answered nor closed.
   */
  readonly end: "closed" | "left" | "hung"
}

/** Nothing came or went for so long: whoever may leave does. */
const QUIET_MS = 150
/** Longer than Bun gives a header section, see docs/limits.md. */
const HUNG_MS = 120_000
const SWEEP_MS = 50

/**
 * A request that ends the connection. It goes out after the first answer, or when none has come for a while: Bun closes
 * without an answer when a request comes before the answer to the one before, see docs/limits.md.
 */
const LAST = Buffer.from("GET /last HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")

interface State {
  readonly number: number
  readonly done: (ending: Ending) => void
  /** Whether LAST is to be sent. */
  toAsk: boolean
  hasAsked: boolean
  text: string
  touchedMs: number
}

type Socket = Bun.Socket<State>

/**
 * Sends cases, each over a connection of its own and so many at once, and tells each one's ending.
 *
 * @param piecesOf the bytes of a case, in the pieces that they are written in
 * @param asksToClose whether a request with `Connection: close` follows a case's bytes; without it the sender goes when
 *   it is quiet
 */
export async function sendCases(
  port: number,
  { from, to, atOnce }: { from: number; to: number; atOnce: number },
  piecesOf: (number: number) => readonly Uint8Array[],
  asksToClose: (number: number) => boolean,
  tell: (ending: Ending) => void,
): Promise<void> {
  const open = new Set<Socket>()
  const sweep = setInterval(() => {
    for (const socket of open) goOnIfQuiet(socket)
  }, SWEEP_MS)
  let next = from
  const sender = async (): Promise<void> => {
    while (next < to) {
      const number = next++
      tell(await sendOne(port, open, number, piecesOf(number), asksToClose(number)))
    }
  }
  try {
    await Promise.all(Array.from({ length: atOnce }, sender))
  } finally {
    clearInterval(sweep)
  }
}

async function sendOne(
  port: number,
  open: Set<Socket>,
  number: number,
  pieces: readonly Uint8Array[],
  asksToClose: boolean,
): Promise<Ending> {
  const { promise, resolve } = Promise.withResolvers<Ending>()
  const touchedMs = performance.now()
  const state: State = { number, done: resolve, toAsk: asksToClose, hasAsked: false, text: "", touchedMs }
  const close = (): void => resolve({ number, end: "closed", ...readAnswers(state.text) })
  const socket = await Bun.connect<State>({
    hostname: "127.0.0.1",
    port,
    data: state,
    socket: {
      data(it, bytes) {
        state.text += bytes.toString("latin1")
        state.touchedMs = performance.now()
        const { statuses, whole } = readAnswers(state.text)
        if (whole && statuses.length > 0) ask(it)
      },
      end: close,
      close,
      error: close,
    },
  })
  open.add(socket)
  for (const piece of pieces) {
    socket.write(piece)
    socket.flush()
    await new Promise(setImmediate)
  }
  const ending = await promise
  open.delete(socket)
  // a reset, so that ports are free again at once
  socket.terminate()
  return ending
}

function ask(socket: Socket): void {
  const { data: state } = socket
  if (!state.toAsk) return
  state.toAsk = false
  state.hasAsked = true
  socket.write(LAST)
  socket.flush()
  state.touchedMs = performance.now()
}

function goOnIfQuiet(socket: Socket): void {
  const { number, toAsk, hasAsked, text, touchedMs, done } = socket.data
  const quietMs = performance.now() - touchedMs
  if (quietMs < QUIET_MS) return
  if (toAsk) return ask(socket)
  const answers = readAnswers(text)
  if (!hasAsked || (answers.whole && answers.statuses.length > 0)) done({ number, end: "left", ...answers })
  else if (quietMs > HUNG_MS) done({ number, end: "hung", ...answers })
}
