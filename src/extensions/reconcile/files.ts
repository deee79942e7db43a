import { LedgerDatabase, ledgerIn } from "./ledger-database.ts"
import type { KeptFiles } from "../kept-file.ts"

/*
 *   reconcile-<id>.sqlite              what became of a sender's events
 *   reconcile-<id>.outcomes/<hour>-…   the same, from the pipelines: lines of text
 */

export const FILES: readonly KeptFiles[] = [
  { kind: "outcomes", pattern: /^reconcile-[^/]+\.outcomes\/\d+-\d+$/, folders: /\.outcomes$/ },
  {
    kind: "ledger",
    pattern: /^reconcile-([^/]+)\.sqlite$/,
    database: {
      locate: (folder, id) => ledgerIn(folder, id!),
      open: (location) => new LedgerDatabase(location),
    },
  },
]
