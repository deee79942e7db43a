import { useCallback, useEffect, useState } from "preact/hooks"
import { onReconnected } from "./store/reconnected.ts"

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
