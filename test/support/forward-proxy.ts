import { once } from "node:events"
import { createServer, request } from "node:http"
import { connect, type AddressInfo } from "node:net"

/** An HTTP proxy, with CONNECT for https, that reaches hosts which no name server knows; disposing of it stops it. */
export interface ForwardProxy extends AsyncDisposable {
  /** With credentials, as in HTTP_PROXY. */
  readonly url: string
  /** As it may be shown. */
  readonly shown: string
  /** The requests that came, as `POST http://app.test/hook` or `CONNECT app.test:443`, oldest first. */
  readonly requests: readonly string[]
  /** The status that requests get from the proxy itself; undefined: they are passed on. */
  refuses: number | undefined
}

export const PROXY_PASSWORD = "obviously-fake-proxy-password"
const AUTHORIZATION = `Basic ${Buffer.from(`proxy-user:${PROXY_PASSWORD}`).toString("base64")}`

/** @param hosts the ports on 127.0.0.1 of the hosts that it knows */
export async function startForwardProxy(hosts: { readonly [host: string]: number }): Promise<ForwardProxy> {
  const requests: string[] = []
  const statusFor = (headers: { readonly "proxy-authorization"?: string | undefined }, host: string) => {
    if (proxy.refuses !== undefined) return proxy.refuses
    if (headers["proxy-authorization"] !== AUTHORIZATION) return 407
    return hosts[host] === undefined ? 502 : undefined
  }
  const server = createServer((asked, answer) => {
    requests.push(`${asked.method} ${asked.url}`)
    const url = URL.canParse(asked.url!) ? new URL(asked.url!) : undefined
    const status = statusFor(asked.headers, url?.hostname ?? "")
    if (status !== undefined || url === undefined) {
      answer.writeHead(status ?? 400).end()
      return
    }
    const { method, headers } = asked
    const onward = request(
      { port: hosts[url.hostname], host: "127.0.0.1", path: url.pathname + url.search, method, headers },
      (answered) => {
        answer.writeHead(answered.statusCode!, answered.headers)
        answered.pipe(answer)
      },
    )
    onward.on("error", () => answer.writeHead(502).end())
    asked.pipe(onward)
  })
  server.on("connect", (asked, socket) => {
    requests.push(`CONNECT ${asked.url}`)
    const host = asked.url!.replace(/:\d+$/, "")
    const status = statusFor(asked.headers, host)
    if (status !== undefined) return void socket.end(`HTTP/1.1 ${status} Refused\r\n\r\n`)
    const onward = connect(hosts[host]!, "127.0.0.1", () => {
      socket.write("HTTP/1.1 200 Connection Established\r\n\r\n")
      socket.pipe(onward).pipe(socket)
    })
    onward.on("error", () => socket.destroy())
    socket.on("error", () => onward.destroy())
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as AddressInfo
  const proxy: ForwardProxy = {
    url: `http://proxy-user:${PROXY_PASSWORD}@127.0.0.1:${port}`,
    shown: `http://127.0.0.1:${port}`,
    requests,
    refuses: undefined,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return proxy
}

const NAMES = ["http_proxy", "https_proxy", "all_proxy", "no_proxy"]

/** Sets the variables of proxies in this process's own environment, and none but these, until it is disposed of. */
export function proxyEnvironment(variables: { readonly [name: string]: string }): Disposable {
  const names = NAMES.flatMap((name) => [name, name.toUpperCase()])
  const before = names.map((name) => [name, process.env[name]] as const)
  for (const name of names) delete process.env[name]
  Object.assign(process.env, variables)
  return {
    [Symbol.dispose]() {
      for (const [name, value] of before) {
        if (value === undefined) delete process.env[name]
        else process.env[name] = value
      }
    },
  }
}
