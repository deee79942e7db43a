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
