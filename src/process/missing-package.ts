import { join } from "node:path"

/**
 * Returns the sentence that says what to do about an import that failed since node_modules is not what package.json asks for;
 * undefined: the error is another one.
 */
export function missingPackage(error: unknown): string | undefined {
  // by Bun.build: each import that failed
  if (error instanceof AggregateError) return error.errors.map(missingPackage).find((it) => it !== undefined)
  if (!(error instanceof Error) || !isOfPackage(error)) return undefined
  const folder = join(import.meta.dir, "../..")
  const remedy = folder.includes("/node_modules/")
    ? "Install Hookline again"
    : `Run 'npm install' in ${folder} (delete its node_modules before, if another tool made it)`
  return `${error.message.replace(/\.$/, "")}. ${remedy} (package_missing).`
}

/** Whether an import failed for a package or a name that it exports, not for a module of Hookline. */
function isOfPackage(error: Error): boolean {
  if (error instanceof ResolveMessage)
    return !error.specifier.startsWith(".") || error.referrer.includes("/node_modules/")
  return (
    error instanceof SyntaxError &&
    /^(?:Export named .* not found|Missing 'default' export) in module .*\/node_modules\//.test(error.message)
  )
}
