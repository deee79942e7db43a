import { resolve } from "node:path"
import { isatty } from "node:tty"
import type { AnsweredRequest } from "../../pipeline/outcome-log.ts"
import { whenAborted } from "../../clock/clock.ts"
import { HooklineError } from "../../errors.ts"
import { parseTargetUrl } from "../../replay/request-of-record.ts"
import { Application } from "../../runtime/application.ts"
import { nameOf } from "../../verify/verification.ts"
import { isColoured, painter } from "../../process/colours.ts"
import { leaveFolder } from "../folder.ts"
import { Interruption } from "../interruption.ts"
import { loadComponents, type ComponentFlags } from "../own-components.ts"
import { refuseOwnPipeline } from "../own-pipeline.ts"
import { startedAs } from "../started-as.ts"
import { columns } from "../wrap.ts"
import { DevSession } from "./dev-session.ts"
import { introduce } from "./introduction.ts"
import { KEYS_HELP, readKeys } from "./keys.ts"
import { hasDesktop, openInBrowser, pageOf, resendLast } from "./page.ts"
import {
  localApplication,
  localVerification,
  namedByFlags,
  type LocalFlags,
  type LocalVerification,
} from "./local-application.ts"

export interface DevFlags extends LocalFlags, ComponentFlags {
  readonly forward?: string
  readonly verbose?: true
  readonly open: boolean
}

/** Runs one local pipeline, or those of a file, and prints a line for each event, until an interrupt. */
export async function dev(flags: DevFlags): Promise<void> {
  const forward = flags.forward === undefined ? undefined : parseTargetUrl(flags.forward)
  let session: DevSession | undefined
  const options = {
    // on a shared port this and a running service would each get a part of the events
    service: { logLevel: "warn", logFormat: "pretty", reusePort: "off" },
    onAnswer: (answered: AnsweredRequest) => session?.answered(answered),
    // the session's lines say what else was refused, and why
    logsRequests: false,
  } as const
  const isLocal = flags.config === undefined
  if (isLocal && flags.components !== undefined)
    throw new HooklineError("usage", "--components is for sections of a file: name the file with --config")
  const verification = isLocal ? localVerification(flags) : undefined
  const app = isLocal
    ? localApplication(flags, verification, options)
    : Application.fromFile(flags.config, { ...options, ...(await loadComponents(flags)) })
  const plan = app.plan()
  const connections = [...plan.connections.keys()]
  for (const { sink } of forward === undefined ? [] : plan.pipelines) {
    const { topic, connection = connections[0] } = sink.values as { topic: string; connection?: string }
    refuseOwnPipeline(forward!, { connection: connection!, topic }, plan.pipelines, connections)
  }
  const paint = painter(isColoured(process.stdout.isTTY === true, process.env))
  const print = (text: string): void => void process.stdout.write(text)
  const command = startedAs()
  const next = isLocal ? nextStep(verification, command) : undefined
  session = new DevSession({ app, plan, forward, isVerbose: flags.verbose === true, paint, print, next })
  const [file] = flags.secretFile ?? []
  // standard input gives it once
  const secretFile = file === undefined || file === "-" ? undefined : resolve(file)
  leaveFolder()
  const { listening } = await app.start().catch(async (error: unknown) => {
    await session!.close()
    throw isLocal ? namedByFlags(error) : error
  })
  const interruption = new Interruption(() => giveBack())
  process.on("SIGHUP", interruption.interrupt)
  const page = pageOf(plan.admin)
  const giveBack = readKeys({
    body: () => session.printBody(),
    open: () => {
      if (page === undefined || !openInBrowser(page))
        print(`${page ?? "[admin] listen is off: there is no page"}\n`)
    },
    resend: async () => {
      const problem = await resendLast(plan.admin, session.lastId)
      if (problem !== undefined) print(`not sent again: ${problem}\n`)
    },
    help: () => print(KEYS_HELP),
    end: () => interruption.interrupt("SIGINT"),
  })
  const hasKeys = isatty(STDIN)
  const width = process.stdout.isTTY ? columns() : undefined
  const introduced = { plan, listening, isLocal, verification, secretFile, forward, hasKeys, command, width }
  print(introduce(introduced, paint))
  if (flags.open && hasKeys && page !== undefined && hasDesktop(process.env)) openInBrowser(page)
  await whenAborted(interruption.signal)
  try {
    await app.stop()
    print(`\n${await session.close()}\n`)
  } finally {
    giveBack()
  }
  process.exit(0)
}

const nextStep = (verification: LocalVerification | undefined, command: string): string =>
  verification === undefined
    ? "start with --provider to verify who sends"
    : `${command} init ${nameOf(verification.provider)} writes a configuration file for a service`

const STDIN = 0
