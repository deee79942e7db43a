import { createContext } from "preact"
import { useContext, useMemo, useState } from "preact/hooks"
import { copy } from "../../clipboard.ts"
import { formatCount, formatCounted } from "../../format.ts"
import { parseJson, type JsonArray, type JsonNode, type JsonObject } from "./parse.ts"

/** Longer strings are clipped, and say how much is left out. */
const MOST_CHARACTERS = 240
/** Members or items that are shown at once. */
const MOST_SHOWN = 100
/** Deeper ones begin folded. */
const OPEN_DEPTH = 6

/** Has the events filtered by a value at a JSON pointer; undefined: it can't be. */
export type FilterBy = (pointer: string, value: string) => (() => void) | undefined

const Filtering = createContext<FilterBy | undefined>(undefined)

interface JsonViewProps {
  readonly text: string
  readonly filterBy?: FilterBy
}

/** A JSON text, indented and folding, with every value spelled as it was sent. A press on a value has what can be done with it. */
export function JsonView({ text, filterBy }: JsonViewProps) {
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
      <Filtering.Provider value={filterBy}>
        <Value node={node} pointer="" depth={0} isLast={true} />
      </Filtering.Provider>
    </div>
  )
}

interface ValueProps {
  readonly node: JsonNode
  readonly name?: string
  /** RFC 6901. */
  readonly pointer: string
  readonly depth: number
  readonly isLast: boolean
}

function Value({ node, name, pointer, depth, isLast }: ValueProps) {
  const comma = isLast ? "" : ","
  const children =
    node.kind === "array" ? node.items.length : node.kind === "object" ? node.members.length : 0
  if ((node.kind === "array" || node.kind === "object") && children > 0)
    return <Container {...{ node, pointer, depth, comma }} {...(name !== undefined && { name })} />
  return (
    <div class="json-line">
      <Name name={name} />
      {node.kind === "array" ? (
        "[]"
      ) : node.kind === "object" ? (
        "{}"
      ) : (
        <Scalar kind={node.kind} text={node.text} pointer={pointer} comma={comma} />
      )}
      {(node.kind === "array" || node.kind === "object") && comma}
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

interface ScalarProps {
  readonly kind: string
  readonly text: string
  readonly pointer: string
  readonly comma: string
}

function Scalar({ kind, text, pointer, comma }: ScalarProps) {
  const [isWhole, setWhole] = useState(false)
  const [isChosen, choose] = useState(false)
  const isClipped = !isWhole && text.length > MOST_CHARACTERS + 2
  const toggle = (): void => {
    if (getSelection()?.isCollapsed !== false) choose(!isChosen)
  }
  return (
    <>
      <span
        class={`json-value json-${kind}`}
        role="button"
        tabIndex={0}
        aria-expanded={isChosen}
        onClick={toggle}
        onKeyDown={(event) => {
          if (event.key !== "Enter" && event.key !== " ") return
          event.preventDefault()
          event.stopPropagation()
          toggle()
        }}
      >
        {isClipped ? `${text.slice(0, MOST_CHARACTERS)}…` : text}
      </span>
      {isClipped && (
        <>
          {" "}
          <button type="button" class="json-more" onClick={() => setWhole(true)}>
            {formatCount(text.length - MOST_CHARACTERS)} more characters
          </button>
        </>
      )}
      {comma}
      {isChosen && (
        <ValueActions value={kind === "string" ? (JSON.parse(text) as string) : text} {...{ pointer }} />
      )}
    </>
  )
}

function ValueActions({ pointer, value }: { pointer: string; value: string }) {
  const filter = useContext(Filtering)?.(pointer, value)
  return (
    <span class="json-actions">
      {filter !== undefined && value !== "null" && (
        <button type="button" class="json-more" onClick={filter}>
          Filter by it
        </button>
      )}
      <button type="button" class="json-more" onClick={() => void copy(value, "value")}>
        Copy value
      </button>
      <button type="button" class="json-more" onClick={() => void copy(pointer, "path")}>
        Copy path
      </button>
    </span>
  )
}

interface ContainerProps {
  readonly node: JsonArray | JsonObject
  readonly name?: string
  readonly pointer: string
  readonly depth: number
  readonly comma: string
}

function Container({ node, name, pointer, depth, comma }: ContainerProps) {
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
                pointer={`${pointer}/${"name" in child ? tokenOf(child.name) : n}`}
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

/** A member's name, spelled with its quotes, in a JSON pointer. */
const tokenOf = (name: string): string =>
  (JSON.parse(name) as string).replaceAll("~", "~0").replaceAll("/", "~1")
