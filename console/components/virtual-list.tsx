import { signal } from "@preact/signals"
import type { ComponentChildren } from "preact"
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks"

/** Rows beyond the edges that are rendered before someone scrolls to them. */
const AHEAD = 10

const narrow = matchMedia("(max-width: 600px)")
/** Whether the window is narrow, by the width at which the style sheets make rows higher. */
export const isNarrow = signal(narrow.matches)
narrow.addEventListener("change", ({ matches }) => (isNarrow.value = matches))

export interface VirtualListHandle {
  /** Rows that fit into the window. */
  readonly visible: number
  /** Scrolls until a row is in sight whole. */
  reveal(index: number): void
  toTop(): void
}

interface VirtualListProps {
  readonly count: number
  /** Rows that were removed above those in sight, ever: these stay where they are. */
  readonly removedRows: number
  /** Pixels, of every row. */
  readonly rowHeight: number
  readonly label: string
  readonly class: string
  /** Renders the row at a place: an `<li>` with a key. */
  row(index: number): ComponentChildren
  /** Called after each change with the end of the rows in the document, and whether the first row is in sight. */
  looked(end: number, isAtTop: boolean): void
  handle(handle: VirtualListHandle): void
  /** What follows the last row. */
  readonly children?: ComponentChildren
}

/** A list of any length of which only the rows in sight are in the document. */
export function VirtualList({
  count,
  removedRows,
  rowHeight,
  row,
  looked,
  handle,
  ...props
}: VirtualListProps) {
  const scroller = useRef<HTMLDivElement>(null)
  const [range, setRange] = useState({ top: 0, height: 0 })
  const first = Math.max(0, Math.min(Math.floor(range.top / rowHeight) - AHEAD, count - 1))
  const end = Math.min(count, Math.ceil((range.top + range.height) / rowHeight) + AHEAD)
  useLayoutEffect(() => {
    const element = scroller.current!
    const read = (): void =>
      setRange((it) =>
        it.top === element.scrollTop && it.height === element.clientHeight
          ? it
          : { top: element.scrollTop, height: element.clientHeight },
      )
    const observer = new ResizeObserver(read)
    observer.observe(element)
    element.addEventListener("scroll", read, { passive: true })
    read()
    handle({
      get visible() {
        return Math.floor(element.clientHeight / rowHeight)
      },
      reveal(index) {
        const top = index * rowHeight
        const lowest = top + rowHeight - element.clientHeight
        element.scrollTop = Math.max(lowest, Math.min(element.scrollTop, top))
        read()
      },
      toTop() {
        element.scrollTop = 0
        read()
      },
    })
    return () => {
      observer.disconnect()
      element.removeEventListener("scroll", read)
    }
  }, [rowHeight])
  const removedBefore = useRef(removedRows)
  useLayoutEffect(() => {
    scroller.current!.scrollTop -= (removedRows - removedBefore.current) * rowHeight
    removedBefore.current = removedRows
  }, [removedRows])
  useEffect(() => looked(end, range.top < rowHeight))
  return (
    <div ref={scroller} class={`virtual-list ${props.class}`}>
      <ul
        aria-label={props.label}
        style={{ height: `${count * rowHeight}px`, paddingTop: `${first * rowHeight}px` }}
      >
        {Array.from({ length: Math.max(0, end - first) }, (_, n) => row(first + n))}
      </ul>
      {props.children}
    </div>
  )
}
