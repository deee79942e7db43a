import { copy } from "../clipboard.ts"

/** A command or lines of configuration, to copy. `what` names them: `configuration`. */
export function CodeBlock({ text, what }: { text: string; what: string }) {
  return (
    <div class="code-block">
      <pre>{text}</pre>
      <button type="button" class="quiet" aria-label={`Copy ${what}`} onClick={() => void copy(text, what)}>
        Copy
      </button>
    </div>
  )
}
