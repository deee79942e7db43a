import { copy } from "../clipboard.ts"

/** Copies a text; `text` is called when it is pressed, so that a large one is made only then. */
export function CopyButton({ text, label = "Copy" }: { text: () => string; label?: string }) {
  return (
    <button type="button" class="quiet" onClick={() => void copy(text(), label)}>
      {label}
    </button>
  )
}
