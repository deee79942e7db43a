import type { Ref } from "preact"
import { useEffect, useState } from "preact/hooks"
import { Select } from "../../components/select.tsx"
import { State } from "../../components/values.tsx"
import { isInterrupted } from "../../event-stream.ts"
import { fromLocalTime, sentence, toLocalTime } from "../../format.ts"
import { parseCondition } from "./condition.ts"
import type { EventsPlace, Source } from "./place.ts"
import { boundsOf, RANGES } from "./range.ts"
import type { TopicTail } from "./topic-tail.ts"

interface ToolbarProps {
  readonly place: EventsPlace
  readonly sources: readonly Source[]
  readonly tail: TopicTail
  readonly filterInput: Ref<HTMLInputElement>
  go(changed: Partial<EventsPlace>): void
  toggle(): void
}

export function Toolbar({ place, sources, tail, filterInput, go, toggle }: ToolbarProps) {
  const { source, range } = place
  return (
    <div class="toolbar">
      <TopicPicker sources={sources} chosen={source} choose={(it) => go({ source: it, record: undefined })} />
      <Select
        label="Time range"
        value={range["range"] ?? ""}
        options={RANGES.map(({ id, label }) => [id, label])}
        choose={(it) => go({ range: { range: it } })}
      />
      {range["range"] === "custom" && <CustomRange range={range} change={(it) => go({ range: it })} />}
      <FilterInput filter={place.filter} input={filterInput} change={(filter) => go({ filter })} />
      <LiveState tail={tail} toggle={toggle} />
    </div>
  )
}

interface TopicPickerProps {
  readonly sources: readonly Source[]
  readonly chosen: Source | undefined
  choose(source: Source): void
}

function TopicPicker({ sources, chosen, choose }: TopicPickerProps) {
  const connections = [...new Set(sources.map(({ connection }) => connection))]
  const at = sources.findIndex((it) => it.connection === chosen?.connection && it.topic === chosen.topic)
  return (
    <select
      class="topic-picker"
      aria-label="Topic"
      value={String(at)}
      onChange={({ currentTarget: { value } }) => choose(sources[Number(value)]!)}
    >
      {connections.map((connection) => (
        <optgroup key={connection} label={connection}>
          {sources.map(
            (it, n) =>
              it.connection === connection && (
                <option key={it.topic} value={String(n)}>
                  {it.topic ?? `All topics of ${connection}`}
                </option>
              ),
          )}
        </optgroup>
      ))}
    </select>
  )
}

interface CustomRangeProps {
  readonly range: EventsPlace["range"]
  change(range: EventsPlace["range"]): void
}

function CustomRange({ range, change }: CustomRangeProps) {
  const bounds = boundsOf(range, 0)
  const timeOf = (text: string): string | undefined => (text === "" ? undefined : `${fromLocalTime(text)}`)
  return (
    <>
      {(["since", "until"] as const).map((end) => (
        <input
          key={end}
          type="datetime-local"
          step={0.001}
          aria-label={sentence(end)}
          value={toLocalTime(bounds[end])}
          onChange={({ currentTarget: { value } }) => change({ ...range, [end]: timeOf(value) })}
        />
      ))}
    </>
  )
}

interface FilterInputProps {
  readonly filter: string
  readonly input: Ref<HTMLInputElement>
  change(filter: string): void
}

/** Applies what is typed at Enter, and when the field is left or emptied. */
function FilterInput({ filter, input, change }: FilterInputProps) {
  const [typed, type] = useState(filter)
  const [problem, setProblem] = useState<string>()
  useEffect(() => type(filter), [filter])
  const apply = (text: string): void => {
    const condition = parseCondition(text)
    setProblem("problem" in condition ? condition.problem : undefined)
    if (!("problem" in condition) && text.trim() !== filter) change(text.trim())
  }
  return (
    <div class="grow event-filter">
      <input
        ref={input}
        type="search"
        aria-label="Filter"
        placeholder="any text, or /type = invoice.*"
        spellcheck={false}
        autocomplete="off"
        value={typed}
        aria-invalid={problem !== undefined}
        aria-describedby={problem === undefined ? undefined : "filter-problem"}
        onInput={({ currentTarget: { value } }) => {
          type(value)
          if (value === "") apply("")
        }}
        onChange={({ currentTarget: { value } }) => apply(value)}
        onKeyDown={(event) => {
          if (event.key === "Enter") apply(event.currentTarget.value)
          if (event.key === "Escape" || event.key === "Enter") event.currentTarget.blur()
        }}
      />
      {problem !== undefined && (
        <p id="filter-problem" class="filter-problem" role="alert">
          {problem}
        </p>
      )}
    </div>
  )
}

function LiveState({ tail, toggle }: { tail: TopicTail; toggle: () => void }) {
  const stream = tail.stream.value
  if (stream === undefined) return null
  const isPaused = tail.isPaused.value
  return (
    <>
      <span class="live-state" role="status">
        {isPaused ? (
          <State level="warning">paused</State>
        ) : isInterrupted(stream) ? (
          <State level="warning">reconnecting</State>
        ) : stream === "refused" ? (
          <State level="error">not live</State>
        ) : (
          <State level="good">live</State>
        )}
      </span>
      <button type="button" aria-keyshortcuts="." onClick={toggle}>
        {isPaused ? "Resume" : "Pause"} <kbd>.</kbd>
      </button>
    </>
  )
}
