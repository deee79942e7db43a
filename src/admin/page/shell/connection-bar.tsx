import { useEffect, useState } from "preact/hooks"
import { streamState } from "../store/live.ts"

/** A restart of a second is not worth a word. */
const QUIET_MS = 1500

/** Says quietly that the service does not answer, and that the page goes on by itself. It lies over the view: nothing moves. */
export function ConnectionBar() {
  const isLost = streamState.value === "lost"
  const [isShown, show] = useState(false)
  useEffect(() => {
    if (!isLost) return show(false)
    const timer = setTimeout(() => show(true), QUIET_MS)
    return () => clearTimeout(timer)
  }, [isLost])
  return (
    <div class="connection-bar" role="status" aria-live="polite" data-shown={isShown}>
      {isShown && "Hookline does not answer. Reconnecting; what came meanwhile follows."}
    </div>
  )
}
