import { useEffect, useRef, useState } from "preact/hooks"
import { Skeleton } from "./loading.tsx"
import { isDark } from "../theme.ts"
import type { CurveSeries, Plot } from "./plot.ts"

interface CurveProps {
  readonly title: string
  /** Milliseconds since 1970. */
  readonly times: readonly number[]
  readonly series: readonly CurveSeries[]
  format(value: number): string
  /** `stack`: bars on top of each other, of accepted, dropped and refused; `bars`: a low row of them. Default: lines. */
  readonly kind?: "stack" | "bars"
  /** Called with the times between which someone has dragged. */
  select?(fromMs: number, untilMs: number): void
  /** Said in place of the curve where no series has a value. */
  readonly none?: string
}

/** Series over time; the legend has the values at the pointer, or the newest. */
export function Curve({ title, times, series, format, kind, none, select }: CurveProps) {
  const [at, setAt] = useState<number | undefined>()
  const box = useRef<HTMLDivElement>(null)
  const plot = useRef<Plot>(undefined)
  const [isLoaded, setLoaded] = useState(false)
  const isEmpty = none !== undefined && series.every(({ values }) => values.every((it) => (it ?? 0) === 0))
  const given = useRef({ times, series, select })
  given.current = { times, series, select }
  const dark = isDark()
  useEffect(() => {
    if (isEmpty) return
    let isGone = false
    const open = async (): Promise<void> => {
      const { openPlot } = await import("./plot.ts")
      // the box goes before the effect ends
      if (isGone || box.current === null) return
      const options = { count: series.length, format, kind, point: setAt }
      const dragged = (from: number, until: number): void => given.current.select?.(from, until)
      plot.current = openPlot(box.current, select === undefined ? options : { ...options, select: dragged })
      plot.current.show(given.current.times, given.current.series)
      setLoaded(true)
    }
    void open()
    return () => {
      isGone = true
      plot.current?.close()
      plot.current = undefined
    }
    // other changes are shown in the same plot: a new one would end a drag
  }, [series.length, dark, isEmpty])
  useEffect(() => plot.current?.show(times, series), [times])

  const shown = at ?? times.length - 1
  return (
    <figure class={`curve ${kind ?? ""}`} aria-label={`${title}: ${summaryOf(series, format)}`}>
      <figcaption>
        <span>{title}</span>
        <span class="curve-legend">
          {!isEmpty &&
            series.map(({ label, values }, n) => (
              <span key={label} class={`series-${n % 5}`} title={label}>
                <svg viewBox="0 0 16 4" aria-hidden="true">
                  <path d="M0 2H16" />
                </svg>
                <span class="clipped">{label}</span>
                <span class="number">{valueOf(values[shown], format)}</span>
              </span>
            ))}
        </span>
      </figcaption>
      {isEmpty ? (
        <p class="curve-none muted">{none}</p>
      ) : (
        <div ref={box} class="curve-box">
          {!isLoaded && <Skeleton rows={2} />}
        </div>
      )}
    </figure>
  )
}

const valueOf = (value: number | null | undefined, format: CurveProps["format"]): string =>
  value === null || value === undefined ? "–" : format(value)

/** The curve in words, for screen readers. */
function summaryOf(series: readonly CurveSeries[], format: CurveProps["format"]): string {
  const parts = series.map(({ label, values }) => {
    const known = values.filter((it) => it !== null)
    if (known.length === 0) return `${label} none`
    return `${label} now ${valueOf(values.at(-1), format)}, at most ${format(known.reduce((a, b) => Math.max(a, b), 0))}`
  })
  return parts.join("; ")
}
