import { RequestFailure } from "../api-client.ts"

/** Grey bars in the place of what is loading. */
export function Skeleton({ rows = 3, label = "Loading" }: { rows?: number; label?: string }) {
  return (
    <div class="skeleton" role="status" aria-label={label}>
      {Array.from({ length: rows }, (_, n) => (
        <div key={n} class="skeleton-row" />
      ))}
    </div>
  )
}

/** What went wrong, in the place where it did, and what to do. */
export function ErrorNote({ error, retry }: { error: unknown; retry?: () => void }) {
  const title = error instanceof Error ? error.message : String(error)
  const detail = error instanceof RequestFailure ? error.detail : undefined
  return (
    <div class="error-note" role="alert">
      <span class="state-icon state-error" aria-hidden="true">
        ✕
      </span>
      <div>
        <strong>{title}</strong>
        {detail !== undefined && <p>{detail}</p>}
      </div>
      {retry && (
        <button type="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  )
}
