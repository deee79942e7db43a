import { isMac } from "../keyboard.ts"

const NAMES: { readonly [key: string]: string } = { Escape: "Esc", enter: "↵", ArrowDown: "↓", ArrowUp: "↑" }

/** A shortcut as keycaps. */
export function Keys({ keys }: { keys: string }) {
  const caps = keys.split(" ").map((key) => {
    const [, modified] = /^mod\+(.+)$/.exec(key) ?? []
    if (modified !== undefined) return (isMac ? "⌘" : "Ctrl ") + (NAMES[modified] ?? modified.toUpperCase())
    return NAMES[key] ?? key
  })
  return (
    <span class="keys">
      {caps.map((cap) => (
        <kbd key={cap}>{cap}</kbd>
      ))}
    </span>
  )
}
