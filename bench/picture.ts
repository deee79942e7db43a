/** A line of a chart: its name and points, x ascending. */
export interface Series {
  readonly name: string
  readonly points: readonly (readonly [x: number, y: number])[]
}

const WIDTH = 760
const FONT = 'font-family="system-ui, sans-serif" font-size="13"'
/** Told apart by people who see colours differently as well: Okabe and Ito, https://jfly.uni-koeln.de/color/ */
const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#8a6d00"]

/** Bars from the left, a label and a value each, as SVG. */
export function barChart(
  title: string,
  bars: readonly { readonly label: string; readonly value: number; readonly isOurs: boolean }[],
): string {
  const [left, top, step, thickness] = [250, 48, 30, 20] as const
  const most = Math.max(...bars.map(({ value }) => value))
  const rows = bars.map(({ label, value, isOurs }, i) => {
    const y = top + i * step
    const length = (value / most) * (WIDTH - left - 70)
    const middle = y + thickness / 2 + 5
    return (
      `<text x="${left - 10}" y="${middle}" text-anchor="end">${escape(label)}</text>` +
      `<rect x="${left}" y="${y}" width="${length.toFixed(1)}" height="${thickness}" fill="${isOurs ? COLOURS[0] : "#9aa5b1"}"/>` +
      `<text x="${(left + length + 8).toFixed(1)}" y="${middle}">${value.toFixed(0)}</text>`
    )
  })
  return svg(title, top + bars.length * step + 10, rows)
}

interface Axis {
  readonly label: string
  /** Where the axis has a mark, ascending; the first and the last are its ends. */
  readonly marks: readonly number[]
  readonly logarithmic?: boolean
}

/** Lines over two axes, as SVG. */
export function lineChart(title: string, series: readonly Series[], axes: { x: Axis; y: Axis }): string {
  const [left, right, top, bottom] = [60, WIDTH - 200, 70, 370] as const
  const along = (axis: Axis, from: number, to: number) => (value: number) => {
    const scale = axis.logarithmic === true ? Math.log : (it: number) => it
    const [first, last] = [scale(axis.marks[0]!), scale(axis.marks.at(-1)!)]
    return from + ((scale(value) - first) / (last - first)) * (to - from)
  }
  const [x, y] = [along(axes.x, left, right), along(axes.y, bottom, top)]
  const grid = [
    ...axes.y.marks.map(
      (mark) =>
        `<path d="M${left} ${y(mark).toFixed(1)}H${right}" stroke="#e1e5ea"/>` +
        `<text x="${left - 8}" y="${(y(mark) + 4).toFixed(1)}" text-anchor="end">${mark}</text>`,
    ),
    ...axes.x.marks.map(
      (mark) =>
        `<text x="${x(mark).toFixed(1)}" y="${bottom + 20}" text-anchor="middle">${mark.toLocaleString("en")}</text>`,
    ),
    `<text x="${(left + right) / 2}" y="${bottom + 42}" text-anchor="middle">${escape(axes.x.label)}</text>`,
    `<text x="${left - 44}" y="${top - 14}">${escape(axes.y.label)}</text>`,
  ]
  const lines = series.map(({ name, points }, i) => {
    const colour = COLOURS[i % COLOURS.length]!
    const at = points.map(([px, py]) => `${x(px).toFixed(1)} ${y(py).toFixed(1)}`)
    const dots = points.length > 12 ? [] : at.map((xy) => xy.split(" "))
    return (
      `<path d="M${at.join("L")}" fill="none" stroke="${colour}" stroke-width="2"/>` +
      dots.map(([cx, cy]) => `<circle cx="${cx}" cy="${cy}" r="4" fill="${colour}"/>`).join("") +
      `<rect x="${right + 16}" y="${top + i * 22}" width="14" height="4" fill="${colour}"/>` +
      `<text x="${right + 38}" y="${top + i * 22 + 7}">${escape(name)}</text>`
    )
  })
  return svg(title, bottom + 56, [...grid, ...lines])
}

/** Marks of a logarithmic axis that holds all values: 1, 2, 5, 10 and so on. */
export function logarithmicMarks(values: readonly number[]): number[] {
  const all = Array.from({ length: 10 }, (_, i) => 10 ** (i - 3)).flatMap((it) => [it, 2 * it, 5 * it])
  const [least, most] = [Math.min(...values), Math.max(...values)]
  const from = all.findLastIndex((mark) => mark <= least)
  const to = all.findIndex((mark) => mark >= most)
  return all.slice(Math.max(from, 0), to + 1).map((mark) => Number(mark.toPrecision(1)))
}

function svg(title: string, height: number, content: readonly string[]): string {
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" ${FONT} fill="#1f2933">\n` +
    `<title>${escape(title)}</title>\n<rect width="100%" height="100%" fill="#fff"/>\n` +
    `<text x="16" y="26" font-size="15" font-weight="600">${escape(title)}</text>\n${content.join("\n")}\n</svg>\n`
  )
}

/** Text as SVG takes it. */
export const escape = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;")
