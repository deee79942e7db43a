import type { Extension } from "./define-extension.ts"
import { silence } from "./silence/section.ts"

/** Every extension, in the order in which their problems are shown. */
export const extensions: readonly Extension[] = [silence]
