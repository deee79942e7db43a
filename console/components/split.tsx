import type { ComponentChildren } from "preact"

interface SplitProps {
  readonly list: ComponentChildren
  /** undefined: nothing is opened, and the list has the whole width. */
  readonly detail: ComponentChildren
  readonly detailLabel: string
}

/** A list, and next to it what is opened of it; below it where the window is narrow. Each scrolls by itself. */
export function Split({ list, detail, detailLabel }: SplitProps) {
  const isOpen = detail !== undefined && detail !== null && detail !== false
  return (
    <div class={`split ${isOpen ? "split-open" : ""}`}>
      <div class="split-list">{list}</div>
      {isOpen && (
        <section class="split-detail" aria-label={detailLabel}>
          {detail}
        </section>
      )}
    </div>
  )
}
