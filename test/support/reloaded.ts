import { join } from "node:path"
import { Application } from "../../src/index.ts"

/** What a test sets of a configuration with one pipeline. */
export interface ReloadParts {
  topic?: string
  port?: number
  directory?: string
  source?: string
  more?: string
  admin?: string
}

export const reloadConf = ({
  topic = "first",
  port = 0,
  directory = "log",
  source,
  more,
  admin,
}: ReloadParts = {}): string => `
[connection:log]
directory = ${directory}
[pipeline:webhooks:WebHookSource]
host = 127.0.0.1
port = ${port}
${source ?? ""}
[pipeline:webhooks:BrokerSink]
topic = ${topic}
connection = log
${more ?? ""}
[admin]
listen = ${admin ?? "127.0.0.1:0"}
`

/** The status that a posted body gets. */
export const statusOf = async (url: string | undefined, body = "{}"): Promise<number> =>
  (await fetch(url!, { method: "POST", body })).status

/** How many records a topic has. */
export async function published(folder: string, topic: string): Promise<number> {
  const records = Application.fromFile(join(folder, "pipelines.conf")).read("log", topic)
  return (await Array.fromAsync(records)).length
}
