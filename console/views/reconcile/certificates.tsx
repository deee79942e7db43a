import type { Overview, ReconcileOverview } from "../../api.ts"
import { Table } from "../../components/table.tsx"
import { formatDateTime } from "../../format.ts"

/** The lists of senders that are reconciled with. */
export const Reconciles = ({ overview: { reconciles } }: { overview: Overview }) =>
  reconciles.map((it) => <Certificates key={it.id} it={it} />)

/** A sender's list, now and by the hour, and what became of it. */
const Certificates = ({ it: { id, problem, window, certificates } }: { it: ReconcileOverview }) => (
  <Table
    caption={`Reconciled with ${id}${problem === null ? "" : `: ${problem}`}`}
    columns={["From", "Listed", "Missing", "Recovered", "Open", "Unrecoverable"]}
    rows={[...(window === null ? [] : [window]), ...certificates].map((it) => [
      `${formatDateTime(Date.parse(it.from))}${it === window ? " until now" : ""}`,
      it.listed,
      it.missing,
      it.recovered,
      it.open,
      it.unrecoverable,
    ])}
  />
)
