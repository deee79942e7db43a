import { formatRate } from "../../format.ts"

const WIDTH = 120
const HEIGHT = 16

/** Events a second as a line without axes; what it shows, in words, for those who don't see it. */
export function Sparkline({ values, minutes }: { values: readonly number[]; minutes: number }) {
  const highest = values.reduce((a, b) => Math.max(a, b), 0)
  const label =
    highest === 0
      ? `No events in ${minutes} minutes`
      : `${minutes} minutes, at most ${formatRate(highest)} events a second`
  return (
    <svg
      class="sparkline"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
    >
      {highest > 0 && <path class="sparkline-area" d={`${lineOf(values, highest)}V${HEIGHT}H0Z`} />}
      <path
        class={highest > 0 ? "sparkline-line" : "sparkline-none"}
        d={highest > 0 ? lineOf(values, highest) : `M0 ${HEIGHT - 0.5}H${WIDTH}`}
      />
    </svg>
  )
}

function lineOf(values: readonly number[], highest: number): string {
  const step = WIDTH / Math.max(1, values.length - 1)
  const points = values.map((value, at) => {
    const y = HEIGHT - 1 - (value / highest) * (HEIGHT - 2)
    return `${(at * step).toFixed(1)} ${y.toFixed(1)}`
  })
  return `M${points.join("L")}`
}
