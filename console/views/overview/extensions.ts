import type { FunctionComponent } from "preact"
import type { Overview } from "../../api.ts"
import { Reconciles } from "../reconcile/certificates.tsx"

/** The views that extensions have in the overview, below the pipelines. */
export const EXTENSIONS: readonly FunctionComponent<{ overview: Overview }>[] = [Reconciles]
