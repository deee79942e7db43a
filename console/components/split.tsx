import type { ComponentChildren } from "preact"
import { useEffect, useRef } from "preact/hooks"

interface SplitProps {
  readonly list: ComponentChildren
  /** undefined: nothing is opened, and the list has the whole width. */
  readonly detail: ComponentChildren
  readonly detailLabel: string
}

/** A list, and next to it what is opened of it; below it where the window is narrow. Each scrolls by itself. */
export function Split({ list, detail, detailLabel }: SplitProps) {
  const isOpen = detail !== undefined && detail !== null && detail !== false
  const opened = useFocusAfterEnter(isOpen)
  return (
    <div class={`split ${isOpen ? "split-open" : ""}`}>
      <div class="split-list">{list}</div>
      {isOpen && (
        <section ref={opened} class="split-detail" tabIndex={-1} aria-label={detailLabel}>
          {detail}
        </section>
      )}
    </div>
  )
}

/** Moves the focus into what Enter has opened, and back to where it was when that is closed. */
function useFocusAfterEnter(isOpen: boolean) {
  const opened = useRef<HTMLElement>(null)
  const isAwaited = useRef(false)
  const before = useRef<Element>(null)
  const enter = (): void => {
    if (!isAwaited.current || opened.current === null) return
    isAwaited.current = false
    before.current = document.activeElement
    opened.current.focus()
  }
  useEffect(() => {
    const pressed = ({ key, target }: KeyboardEvent): void => {
      const isOwn = target instanceof Element && target.closest(OWN_ENTER) !== null
      isAwaited.current = key === "Enter" && !isOwn
      // for one that is open already: no rendering follows
      if (isAwaited.current) setTimeout(enter)
    }
    document.addEventListener("keydown", pressed)
    return () => document.removeEventListener("keydown", pressed)
  }, [])
  useEffect(enter)
  useEffect(() => {
    if (isOpen) return
    if (document.activeElement === document.body && before.current instanceof HTMLElement)
      before.current.focus()
    before.current = null
  }, [isOpen])
  return opened
}

/** Where Enter does something else than to open a row. */
const OWN_ENTER = "input, textarea, select, button, dialog, .split-detail"
