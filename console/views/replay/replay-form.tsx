import { useState } from "preact/hooks"
import { get, post } from "../../api-client.ts"
import type { ReplayCount, ReplayOverview, TopicOverview } from "../../api.ts"
import { ErrorNote, Skeleton } from "../../components/loading.tsx"
import { Select } from "../../components/select.tsx"
import { formatCounted } from "../../format.ts"
import { overview } from "../../live.ts"
import { useAction, useLoad } from "../../request-hooks.ts"
import { route } from "../../router.ts"
import { Confirm, type Counted } from "./confirm.tsx"
import { fieldsOf, requestOf, splitSource, type ReplayFields } from "./replay-request.ts"

/** The range, the target and the rate; counts the records before anything is sent. */
export function ReplayForm({ started }: { started: (job: ReplayOverview) => void }) {
  const { query } = route.value
  const topics = useLoad((signal) => get<TopicOverview[]>("topics", {}, signal), [])
  const [counted, setCounted] = useState<Counted>()
  const { isBusy, error, run } = useAction(async (form: FormData) => {
    const request = requestOf(form)
    setCounted({ request, count: await post<ReplayCount>("replays/count", { from: request.from }) })
  })
  const count = (event: SubmitEvent): void => {
    event.preventDefault()
    run(new FormData(event.currentTarget as HTMLFormElement))
  }
  if (topics.error !== undefined) return <ErrorNote error={topics.error} retry={topics.reload} />
  if (topics.value === undefined || overview.value === undefined) return <Skeleton rows={8} />
  return (
    <>
      <form class="replay-form" key={JSON.stringify(query)} onSubmit={count}>
        <From fields={fieldsOf(query)} topics={topics.value} />
        <To topics={topics.value} />
        {error !== undefined && <ErrorNote error={error} />}
        <p class="actions">
          <button type="submit" class="primary" disabled={isBusy}>
            Count the records…
          </button>
          <span class="muted">Nothing is sent before you have seen how many there are.</span>
        </p>
      </form>
      {counted !== undefined && (
        <Confirm counted={counted} started={started} close={() => setCounted(undefined)} />
      )}
    </>
  )
}

const RANGES = [
  ["all", "Everything"],
  ["offsets", "Offsets"],
  ["times", "Times"],
] as const

const TARGETS = [
  ["topic", "A topic"],
  ["url", "A URL"],
] as const

interface ChoicesProps<Value extends string> {
  readonly label: string
  readonly name: string
  readonly options: readonly (readonly [value: Value, words: string])[]
  readonly chosen: Value
  choose(value: Value): void
}

function Choices<Value extends string>({ label, name, options, chosen, choose }: ChoicesProps<Value>) {
  return (
    <div class="wide choices" role="radiogroup" aria-label={label}>
      {options.map(([value, words]) => (
        <label key={value} class="choice">
          <input
            type="radio"
            name={name}
            value={value}
            checked={chosen === value}
            onChange={() => choose(value)}
          />
          {words}
        </label>
      ))}
    </div>
  )
}

function From({ fields, topics }: { fields: ReplayFields; topics: readonly TopicOverview[] }) {
  const [range, setRange] = useState(fields.range)
  const sources = topics.map(({ connection, topic }) => `${connection}/${topic}`)
  // a link may lead to a topic that is not listed
  const listed =
    fields.source === "" || sources.includes(fields.source) ? sources : [fields.source, ...sources]
  const published = overview.value?.pipelines.map(({ connection, topic }) => `${connection}/${topic}`)
  const first = published?.find((it) => listed.includes(it)) ?? listed[0]
  const [source, setSource] = useState(fields.source || (first ?? ""))
  const chosen = topics.find(({ connection, topic }) => `${connection}/${topic}` === source)
  const field = (name: keyof ReplayFields, label: string, type: FieldProps["type"], placeholder = "") => (
    <Field {...{ name, label, type, placeholder }} value={fields[name]} />
  )
  return (
    <fieldset>
      <legend>From</legend>
      <label class="wide">
        Topic
        <Select
          name="source"
          value={source}
          options={listed.map((it) => [it, splitSource(it).join(" / ")])}
          choose={setSource}
        />
      </label>
      {chosen !== undefined && (
        <p class="muted wide">
          {formatCounted(chosen.records, "record")} in {formatCounted(chosen.partitions, "partition")}
        </p>
      )}
      <Choices label="Range" name="range" options={RANGES} chosen={range} choose={(it) => setRange(it)} />
      {range === "offsets" && (
        <>
          {field("from_offset", "First offset", "number", "the oldest")}
          {field("until_offset", "Before offset", "number", "the end")}
        </>
      )}
      {range === "times" && (
        <>
          {field("since", "Since", "datetime-local")}
          {field("until", "Before", "datetime-local")}
        </>
      )}
      {field("partition", "Partition", "number", "all")}
      {field("where", "Filter", "text", "/type = invoice.*")}
    </fieldset>
  )
}

function To({ topics }: { topics: readonly TopicOverview[] }) {
  const connections = (overview.value?.connections ?? []).filter(({ replica }) => replica === undefined)
  const [to, setTo] = useState<(typeof TARGETS)[number][0]>("topic")
  const [connection, setConnection] = useState(connections[0]?.id ?? "")
  return (
    <fieldset>
      <legend>To</legend>
      <Choices label="Target" name="to" options={TARGETS} chosen={to} choose={(it) => setTo(it)} />
      {to === "topic" ? (
        <>
          <label>
            Connection
            <Select
              name="to_connection"
              value={connection}
              options={connections.map(({ id }) => [id, id])}
              choose={setConnection}
            />
          </label>
          <Field
            name="to_topic"
            label="Topic"
            type="text"
            required
            list="target-topics"
            placeholder="payments-copy"
          />
          <datalist id="target-topics">
            {topics
              .filter((it) => it.connection === connection)
              .map(({ topic }) => (
                <option key={topic} value={topic} />
              ))}
          </datalist>
        </>
      ) : (
        <Field
          name="url"
          label="URL"
          class="wide"
          type="url"
          required
          placeholder="https://app.example.com/webhook"
        />
      )}
      <Field
        name="rate"
        label="Records a second"
        type="number"
        min={0.001}
        step="any"
        placeholder="no limit"
      />
    </fieldset>
  )
}

interface FieldProps {
  readonly name: string
  readonly label: string
  readonly type: "text" | "number" | "url" | "datetime-local"
  readonly class?: string
  readonly value?: string
  readonly placeholder?: string
  readonly list?: string
  readonly required?: boolean
  readonly min?: number
  readonly step?: number | string
}

/** What the type of an input implies. */
const IMPLIED = { number: { min: 0 }, "datetime-local": { step: 0.001 }, text: {}, url: {} }

/** A labelled input of the form. */
function Field({ label, class: name = "", value = "", ...input }: FieldProps) {
  return (
    <label class={name}>
      {label}
      <input {...IMPLIED[input.type]} {...input} defaultValue={value} autocomplete="off" spellcheck={false} />
    </label>
  )
}
