import { useEffect, useRef, useState } from "preact/hooks"
import { get } from "../../api-client.ts"
import type { ReasonTally } from "../../api.ts"
import { ErrorNote, Skeleton } from "../../components/loading.tsx"
import { Sparkline } from "../../components/sparkline.tsx"
import { Age, CodeBlock } from "../../components/values.tsx"
import { formatCount, formatCounted, formatTime, sentence } from "../../format.ts"
import { now, overview } from "../../live.ts"
import { useLoad } from "../../request-hooks.ts"
import { hrefOf, navigate, route } from "../../router.ts"
import { Requests } from "./requests.tsx"

/** How often they are asked for, in seconds. */
const EVERY_S = 2
/** Minutes that a curve shows. */
const MINUTES = 15
/** So long after the last verified request none is verified any more; so long after the first refusal one still is. */
const LONG_MS = 60_000

export interface GroupsProps {
  readonly outcome: ReasonTally["outcome"]
  /** Empty: of all. */
  readonly pipeline: string
  readonly opened: string | undefined
  hrefTo(id: string): string
}

/** What was refused or dropped, by pipeline and reason; the single requests beneath. */
export function Groups({ outcome, pipeline, opened, hrefTo }: GroupsProps) {
  const { value, error, reload } = useLoad(
    (signal) => get<ReasonTally[]>("reasons", { pipeline }, signal),
    [pipeline],
  )
  const second = Math.floor(now.value / 1000 / EVERY_S)
  useEffect(reload, [second])
  const groups = useStableOrder(value?.filter((it) => it.outcome === outcome))
  const { group } = route.value.query
  // the newest one is open at first
  const [initial, setInitial] = useState<string>()
  useEffect(() => {
    if (initial === undefined && groups[0] !== undefined) setInitial(keyOf(groups[0]))
  })
  if (value === undefined)
    return error === undefined ? <Skeleton rows={8} /> : <ErrorNote error={error} retry={reload} />
  if (groups.length === 0) return <Nothing outcome={outcome} pipeline={pipeline} />
  return (
    <ul class="groups" aria-label="By pipeline and reason">
      {groups.map((it) => (
        <Group
          key={keyOf(it)}
          group={it}
          isOpen={(group ?? initial) === keyOf(it)}
          opened={opened}
          hrefTo={hrefTo}
        />
      ))}
    </ul>
  )
}

const keyOf = ({ pipeline, outcome, reason }: ReasonTally): string => `${outcome}/${reason}/${pipeline ?? ""}`

/** New ones go on top; the others stay where they are. */
function useStableOrder(groups: readonly ReasonTally[] = []): readonly ReasonTally[] {
  const order = useRef<readonly string[]>([])
  const byKey = new Map(groups.map((it) => [keyOf(it), it]))
  const known = order.current.filter((key) => byKey.has(key))
  order.current = [...[...byKey.keys()].filter((key) => !known.includes(key)), ...known]
  return order.current.map((key) => byKey.get(key)!)
}

interface GroupProps extends Pick<GroupsProps, "opened" | "hrefTo"> {
  readonly group: ReasonTally
  readonly isOpen: boolean
}

function Group({ group, isOpen, opened, hrefTo }: GroupProps) {
  const { pipeline, outcome, reason, status, count, first_at, last_at, advice, sparkline } = group
  const toggle = (): void => {
    const { path, query } = route.value
    navigate(hrefOf("refused", path, { ...query, group: isOpen ? "none" : keyOf(group) }), { replace: true })
  }
  const fault = whoseFault(group)
  return (
    <li class="group">
      <button type="button" class="group-head" aria-expanded={isOpen} onClick={toggle}>
        <span class={`status status-${outcome}`}>{status}</span>
        <strong class="group-pipeline clipped">{pipeline ?? "no pipeline"}</strong>
        <span class="group-words">{whyOf(group)}</span>
        <span class="group-curve">
          {sparkline.length > 0 && <Sparkline values={sparkline} minutes={MINUTES} />}
        </span>
        <span class="group-count number">{formatCount(count)}</span>
        <span class="group-times muted">
          {count > 1 && (
            <>
              first <Age ms={first_at} />, last{" "}
            </>
          )}
          <Age ms={last_at} /> ago
        </span>
      </button>
      {(advice ?? fault) !== null && (
        <p class="group-fix">
          {advice} {fault !== null && <span class="muted">{fault}</span>}
        </p>
      )}
      {isOpen &&
        (isCaptured(outcome) ? (
          <Requests filter={{ pipeline: pipeline ?? "", outcome, reason }} opened={opened} hrefTo={hrefTo} />
        ) : (
          <NotCaptured outcome={outcome} />
        ))}
    </li>
  )
}

/** The reason with its particulars, which say both where they are a sentence. */
function whyOf({ words, detail }: ReasonTally) {
  if (detail === null || detail === words || /^[A-Z]/.test(detail)) return sentence(detail ?? words)
  return (
    <>
      {sentence(words)}: <span class="muted">{detail}</span>
    </>
  )
}

/** Whether the pipeline's requests are verified otherwise says whose fault it is that these are not. */
function whoseFault({ pipeline, verified, first_at, last_at }: ReasonTally): string | null {
  if (verified === null) return null
  const { count, last_at: verifiedAt } = verified
  const startedAt = overview.value?.started_at
  if (count === 0)
    return `No request of ${pipeline} was ever verified${startedAt === undefined ? "" : ` since the start at ${formatTime(startedAt).slice(0, 5)}`}: its Verifier or the sender is set up wrong.`
  const requests = formatCounted(count, "request")
  if (verifiedAt === null) return `${requests} of ${pipeline} verified.`
  const at = formatTime(verifiedAt).slice(0, 5)
  if (verifiedAt < first_at || last_at - verifiedAt > LONG_MS)
    return `${requests} verified until ${at}, none since: the secret was probably changed at one end.`
  const isRight = verifiedAt - first_at > LONG_MS
  return `${requests} verified, the last at ${at}${isRight ? ": the secret is right, and these come from someone else or were changed on their way" : ""}.`
}

function Nothing({ outcome, pipeline }: Pick<GroupsProps, "outcome" | "pipeline">) {
  const of = pipeline === "" ? "" : ` of ${pipeline}`
  return (
    <div class="nothing" role="status">
      <h2>{outcome === "rejected" ? `No refused request${of}` : `No dropped event${of}`}</h2>
      <p class="muted">
        {outcome === "rejected"
          ? "A request that is refused is shown here at once, with the reason and the way to mend it."
          : "Duplicates, and events that a Filter or Router drops, are counted here. Their senders get 2xx."}
      </p>
    </div>
  )
}

function isCaptured(outcome: GroupsProps["outcome"]): boolean {
  const capture = overview.value?.capture ?? "all"
  return capture === "all" || (capture === "refused" && outcome === "rejected")
}

/** What to do to see the requests themselves. */
function NotCaptured({ outcome }: Pick<GroupsProps, "outcome">) {
  const isRefused = outcome === "rejected"
  return (
    <div class="not-captured">
      <h3>{isRefused ? "Requests are not captured" : "Dropped requests are not captured"}</h3>
      <p class="muted">
        They are counted here. To see the requests themselves
        {isRefused ? ", explained, and to send them again" : ", and accepted ones"}, set this and reload:
      </p>
      <CodeBlock text={`[admin]\ncapture = ${isRefused ? "refused" : "all"}`} what="configuration" />
      <p class="muted">
        The last 200 are then kept with headers and bodies as they came, in up to 16 MiB of memory, until
        others take their place, someone forgets them here, or the service ends; never on disk. Who may open
        this page can read them, with secrets and signatures masked; on any address but loopback that takes a
        token. In the Helm chart it is <code>admin.capture</code>.
      </p>
    </div>
  )
}
