/** A log that works, a Kafka that can't be reached, and one with a spool before it: `log`, `kafka`, `kept`. */
export const connectionsWith = (unreachablePort: number): string => `[connection:log]
directory = log
[connection:kafka]
bootstrap_servers = 127.0.0.1:${unreachablePort}
[connection:kept]
bootstrap_servers = 127.0.0.1:${unreachablePort}
spool = spool.db
`

/** A pipeline at the path and with the topic of its id. @param lines further ones of its source, or sections */
export const pipelineTo = (id: string, connection = "log", lines = ""): string => `
[pipeline:${id}:WebHookSource]
path = /${id}
${lines}
[pipeline:${id}:BrokerSink]
topic = ${id}
connection = ${connection}
`
