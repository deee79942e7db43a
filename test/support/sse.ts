/** An event of a stream of server-sent events. */
export interface ServerSentEvent {
  readonly name: string
  readonly id: string | undefined
  readonly data: unknown
}

/** Reads the server-sent events of a URL; leaving the loop closes the connection. */
export async function* serverSentEvents(
  url: string,
  init: RequestInit = {},
): AsyncGenerator<ServerSentEvent, void, undefined> {
  const closing = new AbortController()
  const response = await fetch(url, { ...init, signal: closing.signal })
  if (response.status !== 200) throw new Error(`${url}: ${response.status} ${await response.text()}`)
  let rest = ""
  try {
    for await (const text of response.body!.pipeThrough(new TextDecoderStream())) {
      const events = (rest + text).split("\n\n")
      rest = events.pop()!
      for (const event of events) {
        const fields = new Map(
          event.split("\n").map((line): [string, string] => {
            const at = line.indexOf(":")
            return [line.slice(0, at), line.slice(at + 2)]
          }),
        )
        const data = fields.get("data")
        if (data !== undefined)
          yield { name: fields.get("event") ?? "message", id: fields.get("id"), data: JSON.parse(data) }
      }
    }
  } finally {
    closing.abort()
  }
}
