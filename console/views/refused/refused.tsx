import { useRef, useState } from "preact/hooks"
import { remove } from "../../api-client.ts"
import { Select } from "../../components/select.tsx"
import { Split } from "../../components/split.tsx"
import { useShortcuts } from "../../keyboard.ts"
import { overview } from "../../live.ts"
import { hrefOf, navigate, route } from "../../router.ts"
import { toast } from "../../toasts.ts"
import type { CaptureFilter } from "./captures.ts"
import { CaptureDetailPanel } from "./detail.tsx"
import { Groups, type GroupsProps } from "./groups.tsx"
import { Requests } from "./requests.tsx"

/** What the filter `outcome` of the address stands for; without it, refused requests. */
const OUTCOMES: { readonly [outcome: string]: readonly [CaptureFilter["outcome"], label: string] } = {
  "": ["rejected", "Refused"],
  dropped: ["dropped", "Dropped and duplicates"],
  accepted: ["accepted", "Accepted"],
  answered: ["answered", "Handshakes"],
  all: ["", "All outcomes, one by one"],
}
/** Those that are counted by reason, captured or not. */
const COUNTED = ["", "dropped"]

/** Refused and dropped requests by reason, and captured ones: `#/refused/<id>?pipeline=payments&outcome=all`. */
export function Refused() {
  const { path, query } = route.value
  const [opened] = path
  const { pipeline = "", outcome = "" } = query
  const it = overview.value
  const [kind] = OUTCOMES[outcome] ?? OUTCOMES[""]!
  const list = useRef<HTMLDivElement>(null)
  const hrefTo = (id?: string): string => hrefOf("refused", id === undefined ? [] : [id], query)
  const show = (changed: { pipeline?: string; outcome?: string }): void =>
    navigate(hrefOf("refused", path, { pipeline, outcome, ...changed }))
  const move = (by: number): void => {
    const rows = [...(list.current?.querySelectorAll<HTMLElement>(".group-head, a.capture") ?? [])]
    const focused = rows.indexOf(document.activeElement as HTMLElement)
    const at = focused < 0 ? rows.findIndex((it) => it.ariaCurrent === "true") : focused
    const row = rows[Math.min(Math.max(at + by, 0), rows.length - 1)]
    row?.focus()
    if (opened !== undefined && row instanceof HTMLAnchorElement) navigate(row.hash, { replace: true })
  }
  const forgotten = useForget(() => navigate(hrefTo()))
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
        <Select
          label="Outcome"
          value={outcome}
          options={Object.entries(OUTCOMES)
            .filter(([value]) => COUNTED.includes(value) || it?.capture === "all")
            .map(([value, [, label]]) => [value, label])}
          choose={(chosen) => show({ outcome: chosen })}
        />
      </div>
      <Split
        list={
          <div ref={list}>
            <Listed
              key={`${pipeline}\n${kind}\n${forgotten}`}
              outcome={kind}
              pipeline={pipeline}
              opened={opened}
              hrefTo={hrefTo}
            />
          </div>
        }
        detail={
          opened === undefined ? undefined : <CaptureDetailPanel key={opened} id={opened} close={close} />
        }
        detailLabel="Request"
      />
    </>
  )
}

/** The command that forgets them; how often it did. */
function useForget(done: () => void): number {
  const [forgotten, setForgotten] = useState(0)
  const forget = async (): Promise<void> => {
    try {
      await remove("captures")
      done()
      setForgotten((it) => it + 1)
      toast("Captured requests forgotten")
    } catch (fault) {
      toast(`They are still there: ${(fault as Error).message}`)
    }
  }
  useShortcuts("Refused", [{ label: "Forget all captured requests", run: () => void forget() }])
  return forgotten
}

type ListedProps = Omit<GroupsProps, "outcome"> & Pick<CaptureFilter, "outcome">

const Listed = ({ outcome, pipeline, ...more }: ListedProps) =>
  outcome === "rejected" || outcome === "dropped" ? (
    <Groups outcome={outcome} pipeline={pipeline} {...more} />
  ) : (
    <Requests filter={{ pipeline, outcome, reason: "" }} {...more} />
  )
