import { useId } from "preact/hooks"
import type { ComponentChildren } from "preact"

interface DetailTabsProps<Name extends string> {
  readonly names: readonly Name[]
  readonly chosen: Name
  choose(name: Name): void
  readonly label: string
  /** The chosen one's content. */
  readonly children: ComponentChildren
}

/** Tabs within a detail, with the arrow keys of https://www.w3.org/WAI/ARIA/apg/patterns/tabs/ */
export function DetailTabs<Name extends string>({
  names,
  chosen,
  choose,
  label,
  children,
}: DetailTabsProps<Name>) {
  const id = useId()
  const onKeyDown = (event: KeyboardEvent & { currentTarget: HTMLElement }): void => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
    if (by === undefined) return
    event.preventDefault()
    const at = (names.indexOf(chosen) + by + names.length) % names.length
    choose(names[at]!)
    event.currentTarget.querySelectorAll("button")[at]?.focus()
  }
  return (
    <>
      <div class="detail-tabs" role="tablist" aria-label={label} onKeyDown={onKeyDown}>
        {names.map((name) => (
          <button
            key={name}
            type="button"
            role="tab"
            id={`${id}-${name}`}
            aria-selected={name === chosen}
            aria-controls={`${id}-panel`}
            tabIndex={name === chosen ? 0 : -1}
            onClick={() => choose(name)}
          >
            {name}
          </button>
        ))}
      </div>
      <div
        role="tabpanel"
        id={`${id}-panel`}
        aria-labelledby={`${id}-${chosen}`}
        tabIndex={0}
        class="tab-panel"
      >
        {children}
      </div>
    </>
  )
}
