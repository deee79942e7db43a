/** Whether a tool of test/support/deploy-tools.txt is here; if not, that is said loudly, or is an error with CI set. */
export function hasDeployTool(...command: readonly string[]): boolean {
  if (Bun.which(command[0]!) !== null && Bun.spawnSync([...command]).exitCode === 0) return true
  const how = "pip install -r test/support/deploy-tools.txt"
  if (process.env.CI) throw new Error(`with CI set the tests of deploy/ may not be skipped; ${how}`)
  process.stderr.write(`\n*** TESTS OF deploy/ ARE SKIPPED: ${command.join(" ")} fails; ${how} ***\n\n`)
  return false
}
