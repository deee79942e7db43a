/** A server with TLS and HTTP Basic authentication before a Schema Registry; disposing of it stops it. */
export interface RegistryFront extends AsyncDisposable {
  readonly port: number
  /** Of the API that is Confluent's. */
  readonly url: string
  /** Paths of the requests that were let through, oldest first. */
  readonly passed: readonly string[]
  /** What requests get; `pass`: the registry's answer. */
  behaviour: "pass" | "fail" | "hang"
}

/** @param registryUrl of the API behind it */
export function startRegistryFront(
  registryUrl: string,
  {
    certificate,
    key,
    username,
    password,
  }: {
    /** Paths of PEM files. */
    readonly certificate: string
    readonly key: string
    readonly username: string
    readonly password: string
  },
): RegistryFront {
  const { origin, pathname } = new URL(registryUrl)
  const expected = `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`
  const passed: string[] = []
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 0,
    tls: { cert: Bun.file(certificate), key: Bun.file(key) },
    async fetch(request) {
      if (front.behaviour === "hang") return Promise.withResolvers<Response>().promise
      if (front.behaviour === "fail") return new Response("try later", { status: 502 })
      if (request.headers.get("Authorization") !== expected)
        return Response.json({ error_code: 401, message: "Unauthorized" }, { status: 401 })
      const { pathname: path, search } = new URL(request.url)
      passed.push(path)
      return fetch(`${origin}${path}${search}`, {
        headers: { Accept: request.headers.get("Accept") ?? "*/*" },
      })
    },
  })
  const front: RegistryFront = {
    port: server.port!,
    url: `https://127.0.0.1:${server.port}${pathname}`,
    passed,
    behaviour: "pass",
    [Symbol.asyncDispose]: () => server.stop(true),
  }
  return front
}
