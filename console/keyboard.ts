import { signal } from "@preact/signals"
import { useLayoutEffect, useRef } from "preact/hooks"

/** Something that can be done now, by keys or by ⌘K. */
export interface Shortcut {
  /** A key, or a sequence of keys with spaces between: `j`, `g o`, `Enter`, `mod+k` (⌘ on a Mac, Ctrl elsewhere). */
  readonly keys?: string | undefined
  readonly label: string
  run(): void
}

export interface ShortcutGroup {
  readonly title: string
  readonly shortcuts: readonly Shortcut[]
}

/** What is registered now, in the order of registration: `?` and ⌘K list it. */
export const shortcutGroups = signal<readonly ShortcutGroup[]>([])
export const isMac = /Mac|iPhone|iPad/.test(navigator.platform)

/** How long the second key of a sequence is waited for. */
const SEQUENCE_MS = 1000

/** Registers shortcuts while a component is shown; of equal keys the last registered wins. */
export function useShortcuts(title: string, shortcuts: readonly Shortcut[]): void {
  const newest = useRef(shortcuts)
  newest.current = shortcuts
  const keys = shortcuts.map((it) => it.keys).join()
  useLayoutEffect(() => {
    const own: ShortcutGroup = {
      title,
      shortcuts: newest.current.map(({ keys, label }, n) => ({
        keys,
        label,
        run: () => newest.current[n]?.run(),
      })),
    }
    shortcutGroups.value = [...shortcutGroups.value, own]
    return () => {
      shortcutGroups.value = shortcutGroups.value.filter((it) => it !== own)
    }
  }, [title, keys])
}

export function listenToKeys(): void {
  let pending = ""
  let timer: ReturnType<typeof setTimeout> | undefined
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.isComposing) return
    const key = nameOf(event)
    if (key === undefined || (isTyping(event.target) && !key.startsWith("mod+"))) return
    const all = shortcutGroups.value.flatMap(({ shortcuts }) => shortcuts).toReversed()
    const typed = pending === "" ? key : `${pending} ${key}`
    clearTimeout(timer)
    pending = ""
    const found = all.find(({ keys }) => keys === typed) ?? all.find(({ keys }) => keys === key)
    if (found !== undefined && !(key === "Enter" && isControl(event.target))) {
      event.preventDefault()
      found.run()
    } else if (all.some(({ keys }) => keys?.startsWith(`${key} `))) {
      pending = key
      timer = setTimeout(() => (pending = ""), SEQUENCE_MS)
    }
  })
}

function nameOf({ key, metaKey, ctrlKey, altKey }: KeyboardEvent): string | undefined {
  if (altKey) return undefined
  const isMod = isMac ? metaKey : ctrlKey
  if (metaKey || ctrlKey) return isMod ? `mod+${key.toLowerCase()}` : undefined
  return key
}

/** Whether keys are text there, or belong to a dialog. */
function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false
  return target.isContentEditable || target.closest("input, textarea, select, dialog") !== null
}

/** Enter on a link or a button is its own. */
const isControl = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && target.closest("a, button, summary") !== null
