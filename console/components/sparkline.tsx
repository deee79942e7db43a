import { formatRate } from "../format.ts"

const WIDTH = 120
const HEIGHT = 16

interface SparklineProps {
  /** null: before the service's start. */
  readonly values: readonly (number | null)[]
  readonly minutes: number
}

/** Events a second as a line without axes; what it shows, in words, for those who don't see it. */
export function Sparkline({ values, minutes }: SparklineProps) {
  const highest = values.reduce<number>((a, b) => Math.max(a, b ?? 0), 0)
  const startX =
    Math.max(
      0,
      values.findIndex((it) => it !== null),
    ) * stepOf(values)
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
      {highest > 0 && <path class="sparkline-area" d={`${lineOf(values, highest)}V${HEIGHT}H${startX}Z`} />}
      <path
        class={highest > 0 ? "sparkline-line" : "sparkline-none"}
        d={highest > 0 ? lineOf(values, highest) : `M${startX} ${HEIGHT - 0.5}H${WIDTH}`}
      />
    </svg>
  )
}

const stepOf = (values: SparklineProps["values"]): number => WIDTH / Math.max(1, values.length - 1)

function lineOf(values: SparklineProps["values"], highest: number): string {
  const points = values.flatMap((value, at) => {
    if (value === null) return []
    const y = HEIGHT - 1 - (value / highest) * (HEIGHT - 2)
    return `${(at * stepOf(values)).toFixed(1)} ${y.toFixed(1)}`
  })
  return `M${points.join("L")}`
}
