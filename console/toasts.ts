import { signal } from "@preact/signals"

export interface Toast {
  readonly id: number
  readonly text: string
}

const SHOWN_MS = 4000

export const toasts = signal<readonly Toast[]>([])
let lastId = 0

/** Says something in passing, to eyes and to screen readers. What must be read belongs in an ErrorNote. */
export function toast(text: string): void {
  const id = ++lastId
  toasts.value = [...toasts.value.slice(-2), { id, text }]
  setTimeout(() => {
    toasts.value = toasts.value.filter((it) => it.id !== id)
  }, SHOWN_MS)
}
