import { useMemo, useState } from "preact/hooks"
import { formatCount, formatCounted } from "../../format.ts"
import { parseJson, type JsonArray, type JsonNode, type JsonObject } from "./parse.ts"

/** Longer strings are clipped, and say how much is left out. */
const MOST_CHARACTERS = 240
/** Members or items that are shown at once. */
const MOST_SHOWN = 100
/** Deeper ones begin folded. */
const OPEN_DEPTH = 6

/** A JSON text, indented and folding, with every value spelled as it was sent. */
export function JsonView({ text }: { text: string }) {
  const node = useMemo(() => parseJson(text), [text])
  if (node === undefined)
    return (
      <>
        <p class="json-note muted">This is not JSON.</p>
        <pre class="payload">{text}</pre>
      </>
    )
  return (
    <div class="json payload">
      <Value node={node} depth={0} isLast={true} />
    </div>
  )
}

interface ValueProps {
  readonly node: JsonNode
  readonly name?: string
  readonly depth: number
  readonly isLast: boolean
}

function Value({ node, name, depth, isLast }: ValueProps) {
  const comma = isLast ? "" : ","
  const children =
    node.kind === "array" ? node.items.length : node.kind === "object" ? node.members.length : 0
  if ((node.kind === "array" || node.kind === "object") && children > 0)
    return <Container node={node} depth={depth} comma={comma} {...(name !== undefined && { name })} />
  return (
    <div class="json-line">
      <Name name={name} />
      {node.kind === "array" ? (
        "[]"
      ) : node.kind === "object" ? (
        "{}"
      ) : (
        <Scalar kind={node.kind} text={node.text} />
      )}
      {comma}
    </div>
  )
}

const Name = ({ name }: { name: string | undefined }) =>
  name === undefined ? null : (
    <>
      <span class="json-key">{name}</span>
      {": "}
    </>
  )

function Scalar({ kind, text }: { kind: string; text: string }) {
  const [isWhole, setWhole] = useState(false)
  if (isWhole || text.length <= MOST_CHARACTERS + 2) return <span class={`json-${kind}`}>{text}</span>
  return (
    <>
      <span class={`json-${kind}`}>{text.slice(0, MOST_CHARACTERS)}…</span>{" "}
      <button type="button" class="json-more" onClick={() => setWhole(true)}>
        {formatCount(text.length - MOST_CHARACTERS)} more characters
      </button>
    </>
  )
}

interface ContainerProps {
  readonly node: JsonArray | JsonObject
  readonly name?: string
  readonly depth: number
  readonly comma: string
}

function Container({ node, name, depth, comma }: ContainerProps) {
  const [isOpen, setOpen] = useState(depth < OPEN_DEPTH)
  const [shown, show] = useState(MOST_SHOWN)
  const [start, end] = node.kind === "array" ? "[]" : "{}"
  const children = node.kind === "array" ? node.items.map((value) => ({ value })) : node.members
  const count = formatCounted(children.length, node.kind === "array" ? "item" : "member")
  return (
    <details class="json-fold" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary class="json-line">
        <Name name={name} />
        {start}
        {!isOpen && (
          <>
            <span class="json-count"> {count} </span>
            {end}
            {comma}
          </>
        )}
      </summary>
      {isOpen && (
        <>
          <div class="json-children">
            {children.slice(0, shown).map((child, n) => (
              <Value
                key={n}
                node={child.value}
                {...("name" in child && { name: child.name })}
                depth={depth + 1}
                isLast={n === children.length - 1}
              />
            ))}
            {children.length > shown && (
              <button type="button" class="json-more" onClick={() => show(shown + 10 * MOST_SHOWN)}>
                {formatCount(children.length - shown)} more of {count}
              </button>
            )}
          </div>
          <div class="json-line">
            {end}
            {comma}
          </div>
        </>
      )}
    </details>
  )
}
