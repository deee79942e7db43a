import UPlot from "uplot"
import { formatTime } from "../format.ts"

export interface CurveSeries {
  readonly label: string
  /** null: none was measured in the step. */
  readonly values: readonly (number | null)[]
}

export interface Plot {
  show(times: readonly number[], series: readonly CurveSeries[]): void
  close(): void
}

export interface PlotOptions {
  /** How many series there are. */
  readonly count: number
  readonly kind: "stack" | "bars" | undefined
  /** Called with the times between which someone has dragged. */
  select?(fromMs: number, untilMs: number): void
  format(value: number): string
  /** Called with the index at the pointer; undefined: it has left. */
  point(at: number | undefined): void
}

/** Pixels; less is a click. */
const LEAST_DRAG = 5

/** The colours of a stack, from below; the last one is striped, too. */
const STACK = ["--series-0", "--series-4", "--error"]
/** Series differ by dashes besides colours. */
const DASHES: readonly number[][] = [[], [5, 3], [2, 2], [8, 3, 2, 3], [1, 3]]

/** Draws curves into a box whose size they follow. */
export function openPlot(box: HTMLElement, { count, kind, select, format, point }: PlotOptions): Plot {
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
      height: box.clientHeight,
      ms: 1,
      legend: { show: false },
      cursor: {
        y: false,
        drag: { x: select !== undefined, y: false, setScale: false },
        ...(kind !== "bars" && { sync: { key: "pipeline" } }),
        points: { size: 5 },
      },
      scales: scalesOf(kind),
      axes: [
        { ...axis, space: 64, size: 24, gap: 4, values: (_, times) => times.map(timeOfDay) },
        {
          ...axis,
          show: kind !== "bars",
          space: 28,
          size: 64,
          gap: 4,
          values: (_, values) => values.map((it) => (it === 0 ? "0" : format(it))),
        },
      ],
      series: [
        {},
        ...Array.from({ length: count }, (_, n) =>
          kind !== undefined
            ? stacked(colour, count - 1 - n)
            : {
                stroke: colour(`--series-${n % 5}`),
                width: 1.5,
                dash: DASHES[n % DASHES.length]!,
                points: { size: 3 },
                ...(count === 1 && { fill: colour("--series-area") }),
              },
        ),
      ],
      hooks: hooksOf(point, select),
    },
    undefined,
    box,
  )
  const resized = new ResizeObserver(() => plot.setSize({ width: box.clientWidth, height: box.clientHeight }))
  resized.observe(box)
  return {
    show: (times, series) =>
      plot.setData([
        [...times],
        ...(kind === "stack" ? sumsOf(series) : series.map(({ values }) => [...values])),
      ]),
    close() {
      resized.disconnect()
      plot.destroy()
    },
  }
}

const scalesOf = (kind: PlotOptions["kind"]): UPlot.Scales => ({
  y: { range: (_, __, highest) => [0, highest > 0 ? highest * 1.1 : 1] },
  // a bar begins before its time
  ...(kind === "bars" && {
    x: { range: ({ data: [times] }, first, last) => [2 * first - (times[1] ?? first), last] },
  }),
})

const hooksOf = (point: PlotOptions["point"], select: PlotOptions["select"]): UPlot.Hooks.Arrays => ({
  setCursor: [({ cursor: { idx } }) => point(idx ?? undefined)],
  setSelect: [
    (plot) => {
      const { left, width } = plot.select
      if (width < LEAST_DRAG) return
      plot.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false)
      select?.(plot.posToVal(left, "x"), plot.posToVal(left + width, "x"))
    },
  ],
})

/** The sums of a stack's series up to each, the highest first: what is drawn later covers its lower part. */
function sumsOf(series: readonly CurveSeries[]): (number | null)[][] {
  const sums = series.map((_, n) =>
    series[0]!.values.map((first, at) =>
      first === null ? null : series.slice(0, n + 1).reduce((sum, { values }) => sum + (values[at] ?? 0), 0),
    ),
  )
  return sums.toReversed()
}

/** How the nth series of a stack is drawn: as bars that end at their time. */
const stacked = (colour: (variable: string) => string, n: number): UPlot.Series => ({
  fill: n === STACK.length - 1 ? stripes(colour(STACK[n]!), colour("--background")) : colour(STACK[n]!),
  width: 0,
  paths: UPlot.paths.bars!({ size: [1, Infinity], align: -1 }),
  points: { show: false },
})

/** Told apart from other areas without its colour, too. */
function stripes(colour: string, background: string): CanvasPattern {
  const tile = document.createElement("canvas")
  const size = Math.round(6 * devicePixelRatio)
  tile.width = tile.height = size
  const context = tile.getContext("2d")!
  context.fillStyle = background
  context.fillRect(0, 0, size, size)
  context.strokeStyle = colour
  context.lineWidth = size / 2.5
  for (const x of [-size, 0, size]) {
    context.moveTo(x, size)
    context.lineTo(x + size, 0)
  }
  context.stroke()
  return context.createPattern(tile, "repeat")!
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
