import { useMemo, useState } from "preact/hooks"
import { get } from "../../api-client.ts"
import type { RecordDetail } from "../../api.ts"
import { bytesOfBase64, shownTextOf } from "../../base64.ts"
import { copy } from "../../clipboard.ts"
import { DetailTabs } from "../../components/detail-tabs.tsx"
import { JsonView } from "../../components/json/json-view.tsx"
import { ErrorNote, Skeleton } from "../../components/loading.tsx"
import { RawView } from "../../components/raw-view.tsx"
import { HeaderTable } from "../../components/send-answer.tsx"
import { CodeBlock, Bytes, Time } from "../../components/values.tsx"
import { curlOf } from "../../curl.ts"
import { useShortcuts } from "../../keyboard.ts"
import { overview } from "../../live.ts"
import { useLoad } from "../../request-hooks.ts"
import { hrefOf, navigate } from "../../router.ts"
import { isSame, type RecordPlace, type Source } from "./place.ts"

interface RecordDetailPanelProps {
  readonly source: Source
  readonly place: RecordPlace
  /** What has the list filtered by a value of the event: as `narrowed`; undefined where it can't be. */
  filterBy(what: string, value: string): (() => void) | undefined
  close(): void
}

/** One record; the one before stays until it is loaded. */
export function RecordDetailPanel({ source, place, filterBy, close }: RecordDetailPanelProps) {
  const { value, error, reload } = useLoad(
    (signal) => {
      const path = [source.connection, place.topic, place.partition, place.offset].map(encodeURIComponent)
      return get<RecordDetail>(`records/${path.join("/")}`, {}, signal)
    },
    [source.connection, place.topic, place.partition, place.offset],
  )
  if (error !== undefined) return <ErrorNote error={error} retry={reload} />
  if (value === undefined) return <Skeleton rows={8} />
  return <Opened {...{ record: value, source, place, filterBy, close }} />
}

const TABS = ["JSON", "Raw", "Headers", "curl"] as const

interface OpenedProps extends RecordDetailPanelProps {
  /** What was loaded last: until the record of `place` is, the one before it. */
  readonly record: RecordDetail
}

function Opened({ record, source, place, filterBy, close }: OpenedProps) {
  const { connection, topic, summary, headers, value_base64, pipeline } = record
  const { partition, offset, timestamp, key, bytes, type, event_id } = summary
  const [tab, chooseTab] = useState<(typeof TABS)[number]>("JSON")
  const value = useMemo(() => bytesOfBase64(value_base64), [value_base64])
  const replay = (): void => navigate(replayHref(source, place))
  const copyCurl = (): void => {
    if (isSame(summary, place)) void copy(curlOfRecord(record, value), "curl")
  }
  const copyLink = (): void => void copy(location.href, "link")
  useShortcuts("The event", [
    { keys: "r", label: "Replay it to …", run: replay },
    { keys: "c", label: "Copy as curl", run: copyCurl },
    { label: "Copy link", run: copyLink },
  ])
  return (
    <>
      <div class="detail-head">
        <div class="detail-title">
          <h2>{type ?? `Record ${offset}`}</h2>
          <button type="button" class="quiet icon" aria-label="Close the event" onClick={close}>
            ✕
          </button>
        </div>
        <p class="facts">
          {event_id !== null && <span>{event_id}</span>}
          <span>
            {topic} / {partition} @ {offset}
          </span>
          {key !== null && (
            <button type="button" class="json-more" onClick={filterBy("key", key)}>
              key {key}
            </button>
          )}
          <Bytes value={bytes} />
          <Time ms={timestamp} withDate />
          {pipeline !== null && <a href={hrefOf("overview", [pipeline])}>{pipeline}</a>}
        </p>
      </div>
      <div class="detail-foot">
        <a class="button" href={replayHref(source, place)}>
          Replay to… <kbd>r</kbd>
        </a>
        <button type="button" onClick={copyCurl}>
          Copy as curl <kbd>c</kbd>
        </button>
        <button type="button" class="quiet" onClick={copyLink}>
          Copy link
        </button>
      </div>
      <DetailTabs label="Event" names={TABS} chosen={tab} choose={(it) => chooseTab(it)}>
        {tab === "JSON" ? (
          <JsonView
            key={`${connection} ${topic} ${partition} ${offset}`}
            text={shownTextOf(value)}
            filterBy={filterBy}
          />
        ) : tab === "Raw" ? (
          <RawView key={value_base64} bytes={value} />
        ) : tab === "Headers" ? (
          <Headers headers={headers} filterBy={filterBy} />
        ) : (
          <Curl command={curlOfRecord(record, value)} />
        )}
      </DetailTabs>
    </>
  )
}

const Curl = ({ command }: { command: string }) => (
  <div class="curl">
    <CodeBlock text={command} what="curl" />
    <p class="muted">
      The record’s value, posted as it is stored. Hookline keeps no signature in a record: a pipeline that
      verifies refuses it. Send signs a request, and Replay needs no pipeline.
    </p>
  </div>
)

function Headers({ headers, filterBy }: Pick<RecordDetail, "headers"> & Pick<OpenedProps, "filterBy">) {
  if (headers.length === 0)
    return (
      <p class="payload muted">
        The record has no headers. The sink’s <code>headers</code> sets them.
      </p>
    )
  return (
    <div class="payload">
      <HeaderTable headers={headers} filterBy={(name, value) => filterBy(`header:${name}`, value)?.()} />
    </div>
  )
}

/** The Replay view with this record as its range. */
const replayHref = ({ connection }: Source, { topic, partition, offset }: RecordPlace): string =>
  hrefOf("replay", [], {
    connection,
    topic,
    partition: String(partition),
    from_offset: String(offset),
    until_offset: String(offset + 1),
  })

/** A command that posts a record's value to the pipeline that publishes to its topic, or else to a program of the user's. */
function curlOfRecord({ pipeline, headers }: RecordDetail, value: Uint8Array): string {
  const url = overview.peek()?.pipelines.find(({ id }) => id === pipeline)?.url
  const type = headers.find(({ name }) => name.toLowerCase() === "content-type")?.value ?? "application/json"
  return curlOf({
    method: "POST",
    url: url === undefined || url === "" ? "http://localhost:3000/webhook" : url,
    headers: [{ name: "Content-Type", value: type }],
    body: value,
  })
}
