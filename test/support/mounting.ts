/**
 * Whether tests that mount file systems for images and machines can run. A tool that is missing is an error with CI set; a
 * machine that does not let this process mount is not, since nothing that could be installed changes that.
 */
export function canMount(subject: string, tools: readonly string[]): boolean {
  const missing = tools.filter((name) => Bun.which(name) === null)
  if (process.env.CI && missing.length > 0)
    throw new Error(`with CI set ${subject} may not be skipped; install ${missing.join(", ")}`)
  const unshared = ["unshare", "--mount", "mount", "--bind", "/usr", "/usr"]
  const mayMount = process.getuid?.() === 0 && Bun.spawnSync(unshared, { stderr: "ignore" }).success
  if (missing.length === 0 && mayMount) return true
  const why = missing.length > 0 ? `no ${missing.join(", ")}` : "mounting is not permitted"
  process.stderr.write(`\n*** THE TESTS OF ${subject.toUpperCase()} ARE SKIPPED: ${why} ***\n\n`)
  return false
}
