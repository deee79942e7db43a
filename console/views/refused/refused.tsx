import { useRef } from "preact/hooks"
import { remove } from "../../api-client.ts"
import type { CaptureSummary } from "../../api.ts"
import { ErrorNote, Skeleton } from "../../components/loading.tsx"
import { Select } from "../../components/select.tsx"
import { Split } from "../../components/split.tsx"
import { CodeBlock, Time } from "../../components/values.tsx"
import { onReplica, sentence } from "../../format.ts"
import { useShortcuts } from "../../keyboard.ts"
import { overview } from "../../live.ts"
import { hrefOf, navigate, route } from "../../router.ts"
import { toast } from "../../toasts.ts"
import { useCaptures, type CaptureFilter } from "./captures.ts"
import { CaptureDetailPanel } from "./detail.tsx"

/** What the filter `outcome` of the address stands for; without it, refused requests. */
const OUTCOMES: { readonly [outcome: string]: readonly [CaptureFilter["outcome"], label: string] } = {
  "": ["rejected", "Refused"],
  all: ["", "All outcomes"],
  accepted: ["accepted", "Accepted"],
  dropped: ["dropped", "Dropped"],
  answered: ["answered", "Handshakes"],
}

/** Captured requests, the refused ones at first: `#/refused/<id>?pipeline=payments&outcome=all`. */
export function Refused() {
  const { path, query } = route.value
  const [opened] = path
  const { pipeline = "", outcome = "" } = query
  const it = overview.value
  const filter = { pipeline, outcome: (OUTCOMES[outcome] ?? OUTCOMES[""]!)[0] }
  const list = useRef<HTMLDivElement>(null)
  const hrefTo = (id?: string): string =>
    hrefOf("refused", id === undefined ? [] : [id], { pipeline, outcome })
  const show = (changed: { pipeline?: string; outcome?: string }): void =>
    navigate(hrefOf("refused", path, { pipeline, outcome, ...changed }))
  const move = (by: number): void => {
    const rows = [...(list.current?.querySelectorAll<HTMLAnchorElement>("a.capture") ?? [])]
    const focused = rows.indexOf(document.activeElement as HTMLAnchorElement)
    const at = focused < 0 ? rows.findIndex((it) => it.ariaCurrent === "true") : focused
    const row = rows[Math.min(Math.max(at + by, 0), rows.length - 1)]
    row?.focus()
    if (opened !== undefined && row !== undefined) navigate(row.hash, { replace: true })
  }
  const close = (): void => {
    list.current?.querySelector<HTMLElement>("[aria-current=true]")?.focus()
    navigate(hrefTo())
  }
  useShortcuts("Refused", [
    { keys: "j", label: "Next request", run: () => move(1) },
    { keys: "k", label: "Previous request", run: () => move(-1) },
    { keys: "Enter", label: "Open the request", run: () => move(0) },
    ...(opened === undefined ? [] : [{ keys: "Escape", label: "Close the request", run: close }]),
  ])
  return (
    <>
      <div class="toolbar">
        <Select
          label="Pipeline"
          value={pipeline}
          options={[["", "All pipelines"], ...(it?.pipelines ?? []).map(({ id }) => [id, id] as const)]}
          choose={(chosen) => show({ pipeline: chosen })}
        />
        {it?.capture === "all" && (
          <Select
            label="Outcome"
            value={outcome}
            options={Object.entries(OUTCOMES).map(([value, [, label]]) => [value, label])}
            choose={(chosen) => show({ outcome: chosen })}
          />
        )}
      </div>
      {it?.capture === "off" ? (
        <CaptureOff />
      ) : (
        <Split
          list={
            <div ref={list}>
              <List key={`${pipeline}\n${outcome}`} filter={filter} opened={opened} hrefTo={hrefTo} />
            </div>
          }
          detail={
            opened === undefined ? undefined : <CaptureDetailPanel key={opened} id={opened} close={close} />
          }
          detailLabel="Request"
        />
      )}
    </>
  )
}

interface ListProps {
  readonly filter: CaptureFilter
  readonly opened: string | undefined
  hrefTo(id?: string): string
}

function List({ filter, opened, hrefTo }: ListProps) {
  const { list, error, showOlder, reload } = useCaptures(filter)
  const clear = async (): Promise<void> => {
    try {
      await remove("captures")
      navigate(hrefTo())
      reload()
      toast("Captured requests forgotten")
    } catch (fault) {
      toast(`They are still there: ${(fault as Error).message}`)
    }
  }
  useShortcuts("Refused", [{ label: "Forget all captured requests", run: () => void clear() }])
  if (error !== undefined) return <ErrorNote error={error} retry={reload} />
  if (list === undefined) return <Skeleton rows={8} />
  if (list.length === 0) return <Nothing filter={filter} />
  return (
    <>
      <ul class="captures" aria-label="Requests, newest first">
        {list.map((it) => (
          <li key={it.id}>
            <Row capture={it} isOpened={it.id === opened} href={hrefTo(it.id)} />
          </li>
        ))}
      </ul>
      {showOlder && (
        <p class="older">
          <button
            type="button"
            onClick={() => showOlder().catch((fault: Error) => toast(`No older ones: ${fault.message}`))}
          >
            Show older ones
          </button>
        </p>
      )}
    </>
  )
}

interface RowProps {
  readonly capture: CaptureSummary
  readonly isOpened: boolean
  readonly href: string
}

function Row({ capture, isOpened, href }: RowProps) {
  const { status, words, method, path, pipeline, at, outcome, replica } = capture
  return (
    <a class="capture list-row" href={href} aria-current={isOpened ? "true" : undefined}>
      <span class={`status status-${outcome}`}>{status}</span>
      <span class="capture-words clipped">
        {sentence(words)} <span class="muted">{`${method} ${path}${onReplica(replica)}`}</span>
      </span>
      <span class="capture-pipeline clipped">{pipeline ?? <span class="muted">no pipeline</span>}</span>
      <Time ms={at} />
    </a>
  )
}

function Nothing({ filter: { pipeline, outcome } }: { filter: CaptureFilter }) {
  const of = pipeline === "" ? "" : ` of ${pipeline}`
  return (
    <div class="nothing" role="status">
      <h2>{outcome === "rejected" ? `No refused request${of}` : `No such request${of}`}</h2>
      <p class="muted">
        {outcome === "rejected"
          ? "A request that is refused is shown here at once, with the reason and the way to mend it."
          : "Captured requests are kept in memory: a restart forgets them."}
      </p>
    </div>
  )
}

/** What to do to see refused requests. */
function CaptureOff() {
  return (
    <div class="nothing">
      <h2>Requests are not captured</h2>
      <p class="muted">
        Metrics and log count refused requests with their reasons. To see the requests themselves, explained,
        and to send them again, set this and reload:
      </p>
      <CodeBlock text={"[admin]\ncapture = refused"} what="configuration" />
      <p class="muted">
        The last ones are then kept in memory, in full, with known secrets masked; <code>capture = all</code>{" "}
        keeps accepted ones too.
      </p>
    </div>
  )
}
