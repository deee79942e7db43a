import { hrefOf } from "../../router.ts"
import { State } from "../../components/state.tsx"
import type { Attention } from "../../../api/shapes.ts"

/** Only what needs someone's action now; nothing where nothing does. */
export function AttentionList({ items }: { items: readonly Attention[] }) {
  if (items.length === 0) return null
  return (
    <ul class="attention" aria-label="Needs action" aria-live="polite">
      {items.map(({ level, text, pipeline }) => (
        <li key={text.replaceAll(/\d+/g, "")}>
          <State level={level}>{text}</State>
          {pipeline !== null && <a href={hrefOf("refused", [], { pipeline })}>Look at them</a>}
        </li>
      ))}
    </ul>
  )
}
