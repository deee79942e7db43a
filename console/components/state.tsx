import type { ComponentChildren } from "preact"

const ICONS = { good: "●", warning: "▲", error: "✕" } as const

/** A state: an icon of its own shape and a word, since colour alone says nothing to some. */
export function State({ level, children }: { level: keyof typeof ICONS; children: ComponentChildren }) {
  return (
    <span class={`state state-${level}`}>
      <span class="state-icon" aria-hidden="true">
        {ICONS[level]}
      </span>
      <span>{children}</span>
    </span>
  )
}
