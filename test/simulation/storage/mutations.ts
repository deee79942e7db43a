import type { Mutation } from "../mutation.ts"
import type { StorageScenario } from "./scenario.ts"

const without =
  (simulation: StorageScenario["simulation"] | "log, call by call") =>
  (name: string, file: string, text: string, replacement = ""): Mutation => ({
    name,
    simulation,
    changes: [{ file: `src/${file}`, text, replacement }],
  })

const log = without("log")
const logByCall = without("log, call by call")
const spool = without("spool")
const dedupe = without("dedupe")
const reconcile = without("reconcile")
const forward = without("forward")

export const STORAGE_MUTATIONS: readonly Mutation[] = [
  log("a commit has its fsync", "storage/database-file.ts", "synchronous = FULL", "synchronous = NORMAL"),
  logByCall(
    "the WAL is rewritten before a file that failed is opened",
    "storage/recovery.ts",
    "from += writevSync(wal, [chunk.subarray(from, bytes)], at + from)",
    "from = bytes",
  ),
  logByCall(
    "the WAL is kept where a checkpoint's pages may not be durable",
    "storage/recovery.ts",
    "    if (isSynced) return\n",
    "    return\n",
  ),
  {
    name: "the files are compared with the open ones before and after each transaction",
    simulation: "log",
    changes: [
      ["  begin(): void {\n", "  begin(): void {\n    if (this.#bytes >= 0) return\n"],
      ["  check(): number {\n", "  check(): number {\n    if (this.#bytes >= 0) return 1\n"],
      ["  #checkDatabase(): void {\n", "  #checkDatabase(): void {\n    if (this.#bytes >= 0) return\n"],
    ].map(([text, replacement]) => ({
      file: "src/storage/open-files.ts",
      text: text!,
      replacement: replacement!,
    })),
  },
  log(
    "the WAL is compared with what the last transaction left before each one",
    "storage/durable-database.ts",
    "    this.#begin.run()\n    this.files.begin()\n    change()\n",
    "    this.#begin.run()\n    change()\n",
  ),
  log(
    "a WAL that was truncated is not checkpointed when it is closed",
    "storage/durable-database.ts",
    "if (cause instanceof WalChanged) closeWithoutCheckpoint(this.db, this.location.file)\n      else ",
  ),
  {
    name: "a log that lacks what was acknowledged is closed until a restart",
    simulation: "log",
    changes: [
      "    if (this.#before !== undefined) database.follow(this.#before)\n",
      "  if (error instanceof WalTruncated) return { ...failure, isTruncated: true }\n",
    ].map((text) => ({ file: "src/storage/serve-database.ts", text, replacement: "" })),
  },
  log(
    "a WAL that is not read is told from damage",
    "storage/recovery.ts",
    "isDamage(why) ? whyWalUnread(db.filename) : undefined",
    "undefined",
  ),
  log(
    "a record is served if its checksum says that it is what was written",
    "brokers/embedded/stored-rows.ts",
    "return crc === null ? offset < source.unchecked : crc === checksumOf(source, row)",
    "return true",
  ),
  log(
    "a page that is damaged costs its own records, and no others",
    "storage/damage.ts",
    "    if (meetsDamage(db, error)) return undefined\n",
    "",
  ),
  log(
    "damage is believed once it is met again",
    "storage/opening-attempts.ts",
    "isMetAgain ? failure :",
    "true ? failure :",
  ),
  log(
    "a busy batch goes back to the front of the queue",
    "clock/deadlines.ts",
    "[...items, ...this.#items]",
    "[...this.#items, ...items]",
  ),
  log(
    "a record that the thread has is refused at its deadline",
    "brokers/batch-publisher.ts",
    "if (one.deadlineMs <= nowMs) one.reject(this.#late())\n      else waits = true",
    "waits = true",
  ),
  log(
    "requests of a crashed thread are answered",
    "storage/durable-writer.ts",
    "    for (const { answered } of pending) answered(failure)\n",
  ),
  log(
    "records get older by the log's clock",
    "brokers/embedded/log-database.ts",
    "    this.clockMs = this.clock.now()\n",
    "    this.clockMs = batch[1]\n",
  ),
  log(
    "a start of the machine is told by its id",
    "storage/kept-clock.ts",
    "row.boot !== boot || row.uptime > uptime",
    "row.uptime > uptime",
  ),
  log(
    "after a start of the machine the log's clock goes on from its newest record",
    "brokers/embedded/log-database.ts",
    "    if (this.newestClock !== undefined) this.clock.catchUp(this.newestClock)\n",
  ),
  log(
    "the oldest records of all partitions are deleted first",
    "brokers/embedded/retention-trimmer.ts",
    "Math.max(oldestMs, timeOf(next, this.#clock))",
    "oldestMs",
  ),
  dedupe(
    "a key is known for its window by the clock of its file",
    "dedupe/sqlite-keys.ts",
    "return untilMs >= this.#now()",
    "return untilMs >= Date.now()",
  ),
  dedupe(
    "keys are deleted by the clock of their file",
    "dedupe/key-database.ts",
    "      const nowMs = this.clock.now()\n      const old",
    "      const nowMs = Date.now()\n      const old",
  ),
  dedupe(
    "only a published event's key is stored",
    "components/deduplicator.ts",
    `outcome?.kind === "accepted" ? windowMs : undefined`,
    "windowMs",
  ),
  dedupe(
    "an event waits for the one of its key that is under way",
    "dedupe/keyed-lock.ts",
    "    if (this.#taken.has(key)) return false\n",
  ),
  dedupe(
    "a key counts once its record is durable",
    "brokers/embedded/broker.ts",
    "      dedupeKey.isInDoubt = true\n",
    "      dedupeKey.isInDoubt = true\n      dedupeKey.committed(1)\n",
  ),
  dedupe(
    "the key of a record in doubt stays pending",
    "dedupe/dedupe-keys.ts",
    "if (withRecord?.isInDoubt === true)",
    "if (false)",
  ),
  dedupe(
    "a 200 waits for the event's key to be durable",
    "components/deduplicator.ts",
    "return kept instanceof Promise ? kept.then(count) : count(kept)",
    "void (kept instanceof Promise ? kept.then(count) : count(kept))",
  ),
  dedupe(
    "events wait until the keys in the log are read",
    "dedupe/key-lookups.ts",
    " || this.#isHeld) return\n",
    ") return\n",
  ),
  dedupe(
    "the log says which keys it has once it is open again",
    "brokers/embedded/broker.ts",
    "return one?.untilMs === untilMs ? one.id : undefined",
    "return undefined",
  ),
  dedupe(
    "a key is deleted from the log once it is in the store's file",
    "dedupe/key-writes.ts",
    "    this.#keys.set(key, { untilMs, deadlineMs: 0, journalId, at })\n",
    "    this.#keys.set(key, { untilMs, deadlineMs: 0, journalId, at })\n    this.journal?.forget(journalId)\n",
  ),
  spool(
    "a spooled event is acknowledged once it is committed",
    "brokers/spool/topic.ts",
    "      await store.publish({ ...one.record, timestampMs: one.cameAtMs }, one.deadlineMs)\n",
    "      store.publish({ ...one.record, timestampMs: one.cameAtMs }, one.deadlineMs).catch(() => {})\n",
  ),
  spool(
    "a spooled event is deleted once the broker has acknowledged it",
    "brokers/spool/forwarder.ts",
    "        await broker.publish(record, Number.POSITIVE_INFINITY)\n",
    "        broker.publish(record, Number.POSITIVE_INFINITY).catch(() => {})\n",
  ),
  spool(
    "what the broker acknowledged is deleted before more is forwarded",
    "brokers/spool/forwarder.ts",
    "  while (!(await store.settle(topic, last.offset, refused))) {",
    "  while (!(await store.settle(topic, last.offset, refused)) && false) {",
  ),
  spool(
    "what is behind a record that could not be forwarded is not sent before it",
    "brokers/spool/forwarder.ts",
    "          broker.cancel(topic)\n",
  ),
  spool(
    "what comes back from the broker is spooled in its order",
    "brokers/spool/topic.ts",
    "    this.#failed.sort((a, b) => a.sequence - b.sequence)\n",
    "    this.#failed.sort((a, b) => b.sequence - a.sequence)\n",
  ),
  spool(
    "what comes back from the broker is spooled before later events",
    "brokers/spool/topic.ts",
    "[...this.#failed.splice(0), ...this.#held.splice(0)]",
    "[...this.#held.splice(0), ...this.#failed.splice(0)]",
  ),
  spool(
    "events wait while the broker gives back what it has",
    "brokers/spool/topic.ts",
    "    this.#sentTo?.cancel(this.#name)\n",
  ),
  spool(
    "a topic is direct once no commit for it is under way",
    "brokers/spool/topic.ts",
    ": this.#parts.store.committing)",
    ": undefined)",
  ),
  spool(
    "the end of forwarding is not waited for beyond a deadline",
    "brokers/spool/topic.ts",
    "    if (untilMs >= this.#holdingUntilMs) return\n",
    "    if (this.#holdingUntilMs < Number.POSITIVE_INFINITY) return\n",
  ),
  spool(
    "a start with spooled events forwards them first",
    "brokers/spool/spool.ts",
    "    for (const name of topics) this.#topic(name).resume()\n",
  ),
  spool(
    "a full spool takes nothing",
    "brokers/spool/capacity.ts",
    '    if (problem !== undefined) return new PublishError("unavailable", problem)\n',
  ),
  spool(
    "what may still be written counts towards the spool's limit",
    "brokers/spool/store.ts",
    "this.#committing?.records.has(record) === true ? this.#committing.promise : undefined",
    "undefined",
  ),
  reconcile(
    "an event that is missing is asked for three times at most",
    "extensions/reconcile/ledger-database.ts",
    "MOST_ATTEMPTS = 3",
    "MOST_ATTEMPTS = 9",
  ),
  reconcile(
    "an attempt is counted before it is made",
    "extensions/reconcile/reconciler.ts",
    'await ledger.do("attempt", id, round, attempts, api.nowMs())',
    'await ledger.do("attempt", id, round, before, api.nowMs())',
  ),
  reconcile(
    "an attempt that was not made is taken back",
    "extensions/reconcile/reconciler.ts",
    '      await ledger.do("attempt", id, round, attempts - 1, api.nowMs())\n',
  ),
  reconcile(
    "a request whose answer is lost counts as an attempt",
    "extensions/reconcile/reconciler.ts",
    "      if (error instanceof LostAnswer) throw error\n",
  ),
  reconcile(
    "a redelivery is not requested again within an attempt, where the first request may have been received",
    "extensions/reconcile/sender-api.ts",
    "isOnce && isSent && ",
    "false && isOnce && isSent && ",
  ),
  reconcile(
    "an event is asked for once in a pass",
    "extensions/reconcile/ledger-database.ts",
    "AND asked < ?3",
    "AND asked <= ?3",
  ),
  reconcile(
    "nothing is asked for while the pipeline accepts no events",
    "extensions/reconcile/reconciler.ts",
    "if (problem !== undefined)\n            throw",
    "if (problem === null)\n            throw",
  ),
  reconcile(
    "listings overlap, since some deliveries are listed late",
    "extensions/reconcile/reconciler.ts",
    "const OVERLAP = 15",
    "const OVERLAP = 0",
  ),
  reconcile(
    "an event is kept as long as the list may have a redelivery of it",
    "extensions/reconcile/ledger-database.ts",
    "OR last < ?2",
    "OR at < ?2",
  ),
  reconcile(
    "a list begins where the last complete pass did",
    "extensions/reconcile/reconciler.ts",
    "[completeMs, openMs ?? 0,",
    "[openMs ?? 0,",
  ),
  reconcile(
    "a list whose page is forgotten is read anew",
    "extensions/reconcile/reconciler.ts",
    'if (pass.next === "" || wasExpired || !(error instanceof SenderRefusal)) throw error',
    "throw error",
  ),
  reconcile(
    "times are those of the sender's clock",
    "extensions/reconcile/sender-api.ts",
    "Math.abs(aheadMs) > SAME_CLOCK_MS ? aheadMs : 0",
    "0",
  ),
  reconcile(
    "an outcome, once known, stays",
    "extensions/reconcile/ledger-events.ts",
    "outcome = coalesce(outcome, iif(",
    "outcome = coalesce(NULL, iif(",
  ),
  reconcile(
    "the first list begins before the time in which none could be read",
    "extensions/reconcile/reconciler.ts",
    " - (steadyMs() - this.#listedMs)",
  ),
  reconcile(
    "an index is searched by this machine's clock",
    "extensions/reconcile/reconciler.ts",
    " - (api.nowMs() - Date.now())",
  ),
  reconcile(
    "an hour that a late listing changes is certified again",
    "extensions/reconcile/ledger-certificates.ts",
    "if (before?.pending === 0 && before.isVoid !== true && hour < againFromMs) continue",
    "if (before !== undefined) continue",
  ),
  reconcile(
    "a certificate that comes again has a higher revision",
    "extensions/reconcile/ledger-certificates.ts",
    "revision: (before?.revision ?? 0) + 1",
    "revision: 1",
  ),
  reconcile(
    "a certificate's record is published before it counts as certified",
    "extensions/reconcile/reconciler.ts",
    "      await certified(certificate)\n",
    '      await ledger.do("certify", certificate)\n      await certified(certificate)\n',
  ),
  reconcile(
    "an hour is certified once nothing of it is left to ask for",
    "extensions/reconcile/ledger-certificates.ts",
    "now.open > 0 || Bun",
    "Bun",
  ),
  forward(
    "a record is passed once it is accepted or refused for good",
    "replay/send-window.ts",
    'result === "open" || result === "stopped")',
    'result === "stopped")',
  ),
  forward(
    "what was stopped has no answer, and is not passed",
    "replay/send-window.ts",
    ' || result === "stopped")',
    ")",
  ),
  forward(
    "a window of records is posted and not saved",
    "replay/send-window.ts",
    "(this.#sent < records &&",
    "(this.#sent < 100 * records &&",
  ),
  forward(
    "a record leaves the window once the position is saved",
    "replay/send-window.ts",
    `await (this.#saving = this.#save(settled).finally(() => (this.#saving = undefined)))
      for`,
    `void (this.#saving = this.#save(settled).finally(() => (this.#saving = undefined)))
      for`,
  ),
  forward(
    "the last of the window are spared, to be accepted while others fail",
    "replay/keyed-target.ts",
    "SPARED - this.#needed",
    "0 * this.#needed",
  ),
  forward(
    "a refused record is a dead letter before the position passes it",
    "replay/job.ts",
    "await this.#options.refused?.(",
    "void this.#options.refused?.(",
  ),
  forward(
    "refused records are listed with the position that passes them",
    "replay/position-tables.ts",
    "for (const { partition, offset, timestampMs, reason } of failures)",
    "for (const { partition, offset, timestampMs, reason } of failures.slice(1))",
  ),
  {
    ...forward(
      "refused records of a position that was not saved are listed with the next",
      "replay/job.ts",
      "[...this.#unsaved, ...failures]",
      "failures",
    ),
    finding: "nor listed as refused",
  },
  forward(
    "a dead letter that the broker did not take is published again",
    "runtime/forwards.ts",
    "        await pause(RETRY_MS, this.signal)\n",
    "        return\n",
  ),
  forward(
    "one at a time, records are delivered in the order of the log",
    "replay/attempt-target.ts",
    "concurrency === 1",
    "concurrency === 0",
  ),
  forward(
    "one at a time, a record that fails is passed after its retries",
    "replay/ordered-target.ts",
    "attempts > retries",
    "attempts > 0",
  ),
  {
    ...forward(
      "one at a time, a record that was passed is not delivered later",
      "replay/ordered-target.ts",
      "for (const passed of settled) this.#refuse(passed)",
      "this.#queue.unshift(...settled)",
    ),
    finding: "which was accepted",
  },
  forward(
    "one at a time, a record that fails alone is passed",
    "replay/ordered-target.ts",
    "if (!this.#isSpent(entry, attempt) || steadyMs() < this.#probesFromMs) break",
    "break",
  ),
  forward(
    "a record that failed goes before later ones of its key",
    "replay/keyed-target.ts",
    `    attempted?.(entry.record, attempt, doubt.pauseMs)
    this.#heads.add(entry)
`,
    `    attempted?.(entry.record, attempt, doubt.pauseMs)
    this.#heads.add(entry)
    const lane = this.#lanes.get(entry.lane!)
    if (lane?.[1] !== undefined) this.#heads.add(lane[1])
`,
  ),
  forward(
    "records of a key are posted one after the other",
    "replay/keyed-target.ts",
    "if (before === undefined) this.#heads.add(entry)",
    "this.#heads.add(entry)",
  ),
  forward(
    "as many are under way as `concurrency` says",
    "replay/keyed-target.ts",
    "if (this.#active >= this.#concurrency) return",
    "if (this.#active > this.#concurrency) return",
  ),
  {
    ...forward(
      "a record is refused for good if others were accepted since it failed",
      "replay/keyed-target.ts",
      "(refusals > 1 && failedAlone > 0)",
      "refusals > 1",
    ),
    finding: "without a cause",
  },
  {
    ...forward(
      "a record that fails is refused for good after its retries alone",
      "replay/keyed-target.ts",
      "attempts > retries && failedAlone >= Math.max(1, alone)",
      "failedAlone >= 1",
    ),
    finding: "without a cause",
  },
  forward(
    "a forward begins at the saved position",
    "replay/cursors.ts",
    "Math.max(range.first, from?.next.get(range.partition) ?? 0)",
    "Math.max(0, from?.next.get(range.partition) ?? 0)",
  ),
  forward(
    "a request without an answer fails",
    "replay/post.ts",
    "AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)])",
    "signal",
  ),
]
