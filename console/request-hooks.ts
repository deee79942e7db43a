import { useCallback, useEffect, useState, useRef } from "preact/hooks"
import { RequestFailure } from "./api-client.ts"
import { onReconnected } from "./live.ts"

export interface Loaded<T> {
  /** What was loaded last; while the next is under way, too. */
  readonly value: T | undefined
  readonly error: unknown
  readonly isLoading: boolean
  reload(): void
}

/**
 * Loads what `deps` name, again when they change and, after a failure, when the service answers again; an answer that came
 * too late is dropped.
 */
export function useLoad<T>(load: (signal: AbortSignal) => Promise<T>, deps: readonly unknown[]): Loaded<T> {
  const [state, setState] = useState<Omit<Loaded<T>, "reload">>({
    value: undefined,
    error: undefined,
    isLoading: true,
  })
  const [tries, setTries] = useState(0)
  useEffect(() => {
    const leaving = new AbortController()
    setState(({ value }) => ({ value, error: undefined, isLoading: true }))
    load(leaving.signal).then(
      (value) => !leaving.signal.aborted && setState({ value, error: undefined, isLoading: false }),
      (error: unknown) =>
        !leaving.signal.aborted && setState(({ value }) => ({ value, error, isLoading: false })),
    )
    return () => leaving.abort()
  }, [...deps, tries])
  const reload = useCallback(() => setTries((it) => it + 1), [])
  const hasFailed = state.error !== undefined
  useEffect(() => (hasFailed ? onReconnected(reload) : undefined), [hasFailed])
  return { ...state, reload }
}

/** What a button or a form starts, one at a time: further clicks have no effect until it has ended. */
export interface Action<T, A extends readonly unknown[]> {
  readonly isBusy: boolean
  /** Result of the last run; undefined: none has ended, or the last one failed. */
  readonly result: T | undefined
  /** Error of the last run, until the next one starts; of one without an answer, until the service answers again. */
  readonly error: unknown
  /** Runs that have ended without an error. */
  readonly count: number
  run(...args: A): void
}

export function useAction<T, A extends readonly unknown[]>(action: (...args: A) => Promise<T>): Action<T, A> {
  const [state, setState] = useState<Omit<Action<T, A>, "run">>({
    isBusy: false,
    result: undefined,
    error: undefined,
    count: 0,
  })
  const isBusy = useRef(false)
  const run = async (...args: A): Promise<void> => {
    if (isBusy.current) return
    isBusy.current = true
    setState((it) => ({ ...it, isBusy: true, error: undefined }))
    try {
      const result = await action(...args)
      setState(({ count }) => ({ isBusy: false, result, error: undefined, count: count + 1 }))
    } catch (error) {
      setState(({ count }) => ({ isBusy: false, result: undefined, error, count }))
    } finally {
      isBusy.current = false
    }
  }
  // what got no answer can be done again when the service is back: nothing is sent twice by itself
  const isUnanswered = state.error instanceof RequestFailure && state.error.status === 0
  useEffect(
    () => (isUnanswered ? onReconnected(() => setState((it) => ({ ...it, error: undefined }))) : undefined),
    [isUnanswered],
  )
  return { ...state, run: (...args) => void run(...args) }
}
