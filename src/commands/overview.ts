import { overviewShape, type Overview as ServiceOverview } from "../admin/api/overview-shape.ts"
import { sectionLists } from "../extensions/registry.ts"

/** The shape of the overview of a service of this version, with the sections of all extensions. */
export const Overview = overviewShape(sectionLists)

export type Overview = ServiceOverview
