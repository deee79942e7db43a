/** The package of the Helm chart, as `helm package` makes it. */
import { mkdirSync, renameSync, rmdirSync } from "node:fs"
import { dirname, join } from "node:path"
import { DEPLOY_TOOLS, hasDeployTools } from "../../test/support/deploy-tools.ts"
import { outputOf } from "../../test/support/child.ts"

const PACKAGE = `
import sys
from helm_python.chart import lint, package
archive = package(sys.argv[1], destination=sys.argv[2])
wrong = [it for it in lint(archive, strict=True)["messages"] if it["severity"] > 1]
sys.exit(str(wrong)) if wrong else print(archive)`

/** @param source a checkout whose files have times that do not change; @param file whose name npm's package does not have */
export async function packageChart(source: string, file: string): Promise<void> {
  if (!(await hasDeployTools())) throw new Error("Helm is not here")
  const folder = join(dirname(file), ".chart")
  mkdirSync(folder)
  const command = ["python3", "-c", PACKAGE, join(source, "deploy/helm/hookline"), folder]
  renameSync((await outputOf(command, { env: DEPLOY_TOOLS })).trim(), file)
  rmdirSync(folder)
}
