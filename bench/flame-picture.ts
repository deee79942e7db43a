import { escape } from "./picture.ts"

/** What `bun --cpu-prof` writes, as far as it is read: the format of Chrome's developer tools. */
export interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number
    readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number }
    readonly children?: readonly number[]
  }[]
  /** Ids of nodes. */
  readonly samples: readonly number[]
  /** Of each sample, the microseconds since the one before. */
  readonly timeDeltas: readonly number[]
}

/** A function, where it was called from, and how many samples it or what it called was seen in. */
export interface Frame {
  readonly name: string
  readonly origin: "ours" | "library" | "native"
  samples: number
  readonly calls: Map<string, Frame>
}

/**
 * Merges the calls of a function from the same place, whatever the line.
 *
 * @param seconds how much of the profile's end counts: what came before was the start
 */
export function foldProfile({ nodes, samples, timeDeltas }: CpuProfile, seconds: number): Frame {
  const seen = new Map<number, number>()
  let leftUs = seconds * 1e6
  for (let i = samples.length - 1; i >= 0 && leftUs > 0; i--) {
    seen.set(samples[i]!, (seen.get(samples[i]!) ?? 0) + 1)
    leftUs -= timeDeltas[i]!
  }
  const byId = new Map(nodes.map((node) => [node.id, node]))
  const root: Frame = { name: "all", origin: "native", samples: 0, calls: new Map() }
  const add = (id: number, into: Frame): number => {
    const { callFrame, children = [] } = byId.get(id)!
    const { name, origin } = describe(callFrame)
    let frame = into.calls.get(name)
    if (frame === undefined) into.calls.set(name, (frame = { name, origin, samples: 0, calls: new Map() }))
    let total = seen.get(id) ?? 0
    for (const child of children) total += add(child, frame)
    frame.samples += total
    return total
  }
  const top = nodes[0]!
  for (const child of top.children ?? []) root.samples += add(child, root)
  return root
}

function describe({
  functionName,
  url,
  lineNumber,
}: CpuProfile["nodes"][number]["callFrame"]): Pick<Frame, "name" | "origin"> {
  if (url === "" || lineNumber < 0) return { name: functionName || "(native)", origin: "native" }
  const file = url.split("/").at(-1)!
  const origin = url.includes("/node_modules/") ? "library" : url.includes("/src/") ? "ours" : "native"
  return { name: `${functionName || "(anonymous)"} ${file}`, origin }
}

const WIDTH = 1200
const ROW = 18
const TOP = 56
const LEAST = 0.001
const FILL = { ours: "#9ecae9", library: "#ffc685", native: "#d5dae0" } as const

/** Frames as boxes on those that they were called from; a box is as wide as its share of the samples. */
export function flamePicture(title: string, root: Frame): string {
  const boxes: string[] = []
  let depth = 0
  const draw = (frame: Frame, x: number, level: number): void => {
    depth = Math.max(depth, level)
    const width = (frame.samples / root.samples) * WIDTH
    const share = `${((frame.samples / root.samples) * 100).toFixed(1)} %`
    const y = TOP + level * ROW
    const letters = Math.floor((width - 6) / 6.2)
    const label =
      frame.name.length <= letters ? frame.name : letters > 4 ? `${frame.name.slice(0, letters - 1)}…` : ""
    const text = label === "" ? "" : `<text x="${(x + 3).toFixed(1)}" y="${y + 13}">${escape(label)}</text>`
    boxes.push(
      `<g><title>${escape(frame.name)}, ${share}</title>` +
        `<rect x="${x.toFixed(1)}" y="${y}" width="${Math.max(width - 0.5, 0.3).toFixed(1)}" height="${ROW - 1}" fill="${FILL[frame.origin]}"/>${text}</g>`,
    )
    let at = x
    const calls = [...frame.calls.values()].toSorted((a, b) => b.samples - a.samples)
    for (const call of calls) {
      if (call.samples / root.samples < LEAST) break
      draw(call, at, level + 1)
      at += (call.samples / root.samples) * WIDTH
    }
  }
  draw(root, 0, 0)
  const legend = (["ours", "library", "native"] as const).map((origin, i) => {
    const words = { ours: "Hookline", library: "libraries", native: "Bun" }[origin]
    return `<rect x="${12 + i * 110}" y="34" width="12" height="12" fill="${FILL[origin]}"/><text x="${29 + i * 110}" y="44">${words}</text>`
  })
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${TOP + (depth + 1) * ROW + 8}" role="img" ` +
    `font-family="ui-monospace, monospace" font-size="10.5" fill="#1f2933">\n<title>${escape(title)}</title>\n` +
    `<rect width="100%" height="100%" fill="#fff"/>\n<text x="12" y="22" font-size="14">${escape(title)}</text>\n` +
    `${[...legend, ...boxes].join("\n")}\n</svg>\n`
  )
}
