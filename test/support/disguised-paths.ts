import { Accepted } from "../../src/pipeline/outcome.ts"
import { serve, type GivenRoute, type Serving } from "./http-server.ts"
import { openSocket } from "./http-socket.ts"

/** Spellings that become the path by what servers and URL parsers do to them, or that may be taken for it. */
export const DISGUISES = [
  "/x/../private",
  "/x/y/../../private",
  "/../private",
  "/./private",
  "/private/.",
  "/private/../private",
  "/hooks/../private",
  "/hooks/./private/..",
  "/%2e%2e/private",
  "/x/%2E%2e/private",
  "/x/.%2e/private",
  "/%2e/private",
  "/hooks\\..\\private",
  "/hooks/..\\private",
  "\\private",
  "/\\private",
  "/x\\..\\private",
  "/x/..%2fprivate",
  "/x%2f..%2fprivate",
  "/x/..%5cprivate",
  "//private",
  "///private",
  "/private/",
  "/private//",
  "/private.",
  "/private%20",
  "/private%00",
  "/private%09",
  "/private;a=b",
  "/private;/../private",
  "/;/private",
  "/private#",
  "/private#a",
  "/private%23",
  "/private%3fa",
  "/%70rivate",
  "/privat%65",
  "/%2Fprivate",
  "/%2fprivate",
  "/PRIVATE",
  "/Private",
  "/priv\tate",
  "/priv%0aate",
  "/priv\u0000ate",
  "/private\xa0",
  "/pr\xefvate",
  "http:/private",
  "http:private",
  "private",
  "*",
  "?/private",
  "/?/private",
  "/../../../../../../private",
  `/${"x/".repeat(60)}${"../".repeat(60)}private`,
] as const

/** The status of the answer to a request for a target that is sent as it is, over a connection of its own; NaN: none. */
export async function statusOf(port: number, target: string, hosts = ["Host: localhost"]): Promise<number> {
  using socket = await openSocket(port)
  const lines = [`POST ${target} HTTP/1.1`, ...hosts, "Content-Length: 2", "Connection: close", "", "{}"]
  socket.send(Buffer.from(lines.join("\r\n"), "latin1"))
  const [, status] = /^HTTP\/1\.[01] (\d{3}) /.exec(await socket.ended) ?? []
  return Number(status)
}

/** What a pipeline was handed. */
export interface Taken {
  /** The path that the pipeline is configured with. */
  readonly route: string
  /** The path of the request, as the pipeline sees it. */
  readonly path: string
}

/** Pipelines at these paths of one port, and what they are handed. */
export function serveAt(
  port: number,
  paths: readonly string[],
): Serving & AsyncDisposable & { readonly taken: readonly Taken[] } {
  const taken: Taken[] = []
  const routes = paths.map((path): GivenRoute => ({
    port,
    path,
    pipeline: path,
    handle: ({ request }) => {
      taken.push({ route: path, path: request.path })
      return Promise.resolve(new Accepted({ partition: 0, offset: 0 }))
    },
  }))
  return { ...serve(routes), taken }
}
