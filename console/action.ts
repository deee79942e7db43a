import { useRef, useState } from "preact/hooks"

/** What a button or a form starts, one at a time: further clicks have no effect until it has ended. */
export interface Action<T, A extends readonly unknown[]> {
  readonly isBusy: boolean
  /** Result of the last run; undefined: none has ended, or the last one failed. */
  readonly result: T | undefined
  /** Error of the last run, until the next one starts. */
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
  return { ...state, run: (...args) => void run(...args) }
}
