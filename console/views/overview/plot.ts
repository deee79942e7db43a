import UPlot from "uplot"
import { formatTime } from "../../format.ts"

export interface CurveSeries {
  readonly label: string
  /** null: none was measured in the step. */
  readonly values: readonly (number | null)[]
}

export interface Plot {
  show(times: readonly number[], series: readonly CurveSeries[]): void
  close(): void
}

const HEIGHT = 112
/** Series differ by dashes besides colours. */
const DASHES: readonly number[][] = [[], [5, 3], [2, 2], [8, 3, 2, 3], [1, 3]]

/** Draws curves into a box whose width they follow. `point`: the index at the pointer; undefined: it has left. */
export function openPlot(
  box: HTMLElement,
  count: number,
  format: (value: number) => string,
  point: (at: number | undefined) => void,
): Plot {
  const colour = colours(box)
  const font = `11px ${getComputedStyle(box).fontFamily}`
  const axis = {
    stroke: colour("--muted"),
    font,
    grid: { stroke: colour("--border"), width: 1 },
    ticks: { show: false },
  }
  const plot = new UPlot(
    {
      width: box.clientWidth,
      height: HEIGHT,
      ms: 1,
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false }, sync: { key: "pipeline" }, points: { size: 5 } },
      scales: { y: { range: (_, __, highest) => [0, highest > 0 ? highest * 1.1 : 1] } },
      axes: [
        { ...axis, space: 64, size: 24, gap: 4, values: (_, times) => times.map(timeOfDay) },
        {
          ...axis,
          space: 28,
          size: 64,
          gap: 4,
          values: (_, values) => values.map((it) => (it === 0 ? "0" : format(it))),
        },
      ],
      series: [
        {},
        ...Array.from({ length: count }, (_, n) => ({
          stroke: colour(`--series-${n % 5}`),
          width: 1.5,
          dash: DASHES[n % DASHES.length]!,
          points: { size: 3 },
          ...(count === 1 && { fill: colour("--series-area") }),
        })),
      ],
      hooks: { setCursor: [({ cursor: { idx } }) => point(idx ?? undefined)] },
    },
    undefined,
    box,
  )
  const resized = new ResizeObserver(() => plot.setSize({ width: box.clientWidth, height: HEIGHT }))
  resized.observe(box)
  return {
    show: (times, series) => plot.setData([[...times], ...series.map(({ values }) => [...values])]),
    close() {
      resized.disconnect()
      plot.destroy()
    },
  }
}

/** `14:03`, of 24 hours as elsewhere on the page. */
const timeOfDay = (ms: number): string => formatTime(ms).slice(0, 5)

/** CSS variables as colours that a canvas accepts: the theme's one of two is chosen only where a property uses them. */
function colours(box: HTMLElement): (variable: string) => string {
  return (variable) => {
    const probe = document.createElement("i")
    probe.style.color = `var(${variable})`
    box.append(probe)
    const { color } = getComputedStyle(probe)
    probe.remove()
    return color
  }
}
