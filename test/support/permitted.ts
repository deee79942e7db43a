/**
 * Whether tests that mount file systems for images or machines can run: the tools are here, and a command that does as they
 * will succeeds. A tool that is missing is an error with CI set; a machine that does not permit it is not, since nothing
 * that could be installed changes that.
 */
export function isPermitted(subject: string, tools: readonly string[], attempt: readonly string[]): boolean {
  const missing = tools.filter((name) => Bun.which(name) === null)
  if (process.env.CI && missing.length > 0)
    throw new Error(`with CI set the tests of ${subject} may not be skipped; install ${missing.join(", ")}`)
  const isRoot = process.getuid?.() === 0
  if (missing.length === 0 && isRoot && Bun.spawnSync([...attempt], { stderr: "ignore" }).success) return true
  const why = missing.length > 0 ? `no ${missing.join(", ")}` : `${attempt[0]} is not permitted`
  process.stderr.write(`\n*** THE TESTS OF ${subject.toUpperCase()} ARE SKIPPED: ${why} ***\n\n`)
  return false
}
