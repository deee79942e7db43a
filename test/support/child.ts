const SETPRIV = Bun.which("setpriv")

/**
 * The command of a process that ends with this one, however this one ends (PR_SET_PDEATHSIG, prctl(2)): with SIGKILL
 * there is no handler that could end it. setpriv(1) sets it and becomes the command, so the process ID is the command's.
 * Processes that it starts itself are not covered. Where setpriv is missing (not on Linux) the command stays as it is.
 */
export function endingWithThisProcess(...command: readonly string[]): string[] {
  return SETPRIV === null ? [...command] : [SETPRIV, "--pdeathsig", "KILL", ...command]
}

/**
 * Resolves once a server answers, as `asks` finds: it fails or says false until then. That the server has ended before is an
 * error, with what it has `said`.
 */
export async function untilAnswers(
  server: Pick<Bun.Subprocess, "exitCode" | "signalCode">,
  asks: () => Promise<boolean>,
  said: string | Promise<string> = "",
): Promise<void> {
  while (!(await asks().catch(() => false))) {
    const status = server.exitCode ?? server.signalCode
    if (status !== null) throw new Error(`the server ended with ${status} before it answered: ${await said}`)
    await Bun.sleep(20)
  }
}

/** What a process has written, and its exit status, once it has ended. */
export interface Ended {
  readonly status: number
  readonly stdout: string
  readonly stderr: string
}

/** Runs a command to its end; without `stdin` it reads this process's. */
export async function runToEnd(
  command: readonly string[],
  options: {
    cwd?: string
    env?: { [name: string]: string | undefined }
    timeout?: number
    stdin?: Uint8Array
  } = {},
): Promise<Ended> {
  const child = Bun.spawn([...command], { ...options, stdout: "pipe", stderr: "pipe" })
  const [stdout, stderr, status] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  return { status, stdout, stderr }
}

/** Runs a command to its end; returns what it printed, or throws what it said if it failed. */
export async function outputOf(
  command: readonly string[],
  options?: Parameters<typeof runToEnd>[1],
): Promise<string> {
  const { status, stdout, stderr } = await runToEnd(command, options)
  if (status !== 0) throw new Error(`${command.slice(0, 8).join(" ")} failed: ${stderr || stdout}`)
  return stdout
}
