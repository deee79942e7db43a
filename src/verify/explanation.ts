/*
 * Why a request was verified or refused, and what to do about it.
 */
export { adviceOn, textOfAdvice, unknownPath, type SourceLimits } from "./explain/advice.ts"
export { diagnose, type RequestDiagnosis } from "./explain/diagnosis.ts"
export type { Inquiry } from "./explain/inquiry.ts"
export { isToken, notJudged, reportOf, showTime, type Report, type ReportOptions } from "./explain/report.ts"
export { requestTo, withHost } from "./explain/request-to.ts"
