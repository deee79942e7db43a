import { useRef } from "preact/hooks"
import { mayAct, post } from "../../api-client.ts"
import type { ReplayCount, ReplayOverview, ReplayRequest } from "../../api.ts"
import { Dialog } from "../../components/dialog.tsx"
import { ErrorNote } from "../../components/loading.tsx"
import { formatCounted, formatDateTime, formatDuration } from "../../format.ts"
import { useAction } from "../../request-hooks.ts"
import { describeFrom, describeTo } from "./replay-request.ts"

export interface Counted {
  readonly request: ReplayRequest
  readonly count: ReplayCount
}

interface ConfirmProps {
  readonly counted: Counted
  started(job: ReplayOverview): void
  close(): void
}

/** How many records there are and what becomes of them, before the first is sent. */
export function Confirm({ counted: { request, count }, started, close }: ConfirmProps) {
  const dialog = useRef<HTMLDivElement>(null)
  const start = useAction(async () => {
    const job = await post<ReplayOverview>("replays", request)
    dialog.current?.closest("dialog")?.close()
    started(job)
  })
  const { records, is_exact } = count
  const many = `${is_exact ? "" : "About "}${formatCounted(records, "record")}`
  const duration = request.rate === undefined ? undefined : (records / request.rate) * 1000
  return (
    <Dialog label="Replay" class="confirm" close={close}>
      <div ref={dialog} class="confirm-body">
        <h2>{records === 0 ? "No record is in that range" : many}</h2>
        <dl>
          <dt>From</dt>
          <dd>{describeFrom(request.from, formatDateTime)}</dd>
          <dt>To</dt>
          <dd>{describeTo(request.to)}</dd>
          {duration !== undefined && (
            <>
              <dt>Takes</dt>
              <dd>
                {formatDuration(duration)} at {request.rate} a second
              </dd>
            </>
          )}
        </dl>
        {start.error !== undefined && <ErrorNote error={start.error} />}
        <div class="actions">
          <button
            type="button"
            class="primary"
            autofocus
            disabled={start.isBusy || records === 0 || !mayAct.value}
            onClick={start.run}
          >
            Start the replay
          </button>
          <button type="button" onClick={() => dialog.current?.closest("dialog")?.close()}>
            Back
          </button>
        </div>
      </div>
    </Dialog>
  )
}
