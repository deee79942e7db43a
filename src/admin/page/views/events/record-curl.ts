import type { RecordDetail } from "../../../api/shapes.ts"
import { curlOf } from "../../curl.ts"
import { overview } from "../../store/live.ts"

/** A command that posts a record's value to the pipeline that publishes to its topic, or else to one's own program. */
export function curlOfRecord({ pipeline, headers }: RecordDetail, value: Uint8Array): string {
  const url = overview.peek()?.pipelines.find(({ id }) => id === pipeline)?.url
  const type = headers.find(({ name }) => name.toLowerCase() === "content-type")?.value ?? "application/json"
  return curlOf({
    method: "POST",
    url: url === undefined || url === "" ? "http://localhost:3000/webhook" : url,
    headers: [{ name: "Content-Type", value: type }],
    body: value,
  })
}
