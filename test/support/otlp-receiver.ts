import { join } from "node:path"
import { endingWithThisProcess } from "./child.ts"
import { PythonPackages } from "./python-packages.ts"

/** OpenTelemetry's own protobuf types for Python: code that shares nothing with what sends. */
const PACKAGES = new PythonPackages("opentelemetry-proto==1.45.2")

export interface ReceivedSpan {
  readonly name: string
  readonly kind: string
  readonly traceId: string
  readonly spanId: string
  /** Empty: none. */
  readonly parentSpanId: string
  readonly traceState: string
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[]
  readonly status: string
  readonly startNs: number
  readonly endNs: number
  readonly attributes: { readonly [name: string]: string | number | boolean }
  readonly resource: { readonly [name: string]: string }
}

/** A request with spans. */
interface Export {
  /** As it was answered. */
  readonly status: number
  readonly headers: { readonly [name: string]: string }
  readonly spans: readonly ReceivedSpan[]
}

export interface OtlpReceiver extends AsyncDisposable {
  readonly port: number
  /** As `[traces] endpoint` has it. */
  readonly endpoint: string
  readonly exports: readonly Export[]
  /** The spans that were accepted. */
  spans(): readonly ReceivedSpan[]
  /** Resolves once the test passes, asked after each request; rejects when the receiver ends. */
  received(test: (spans: readonly ReceivedSpan[], exports: readonly Export[]) => boolean): Promise<void>
  /** Sets the answers that follow. */
  answerWith(answer: { status?: number; rejected?: number }): Promise<void>
}

/** Whether a receiver can be started, after fetching what it needs. */
export const hasOtlpReceiver = (): Promise<boolean> => PACKAGES.areHere()

/** @param port 0: any */
export async function startOtlpReceiver(port = 0): Promise<OtlpReceiver> {
  const script = join(import.meta.dir, "otlp-receiver.py")
  const child = Bun.spawn(endingWithThisProcess("python3", script, `${port}`), {
    env: PACKAGES.env,
    stdout: "pipe",
    stderr: "inherit",
  })
  const exports: Export[] = []
  const started = Promise.withResolvers<number>()
  let changed = Promise.withResolvers<void>()
  let isEnded = false
  const wake = (): void => {
    changed.resolve()
    changed = Promise.withResolvers()
  }
  void (async () => {
    let rest = ""
    const decoder = new TextDecoder()
    for await (const bytes of child.stdout) {
      const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n")
      rest = lines.pop()!
      for (const line of lines) {
        const value = JSON.parse(line) as Export | { port: number }
        if ("port" in value) started.resolve(value.port)
        else exports.push(value)
      }
      wake()
    }
    isEnded = true
    started.reject(new Error("the OTLP receiver did not start"))
    wake()
  })()
  const bound = await started.promise
  const url = `http://127.0.0.1:${bound}`
  const spans = (): readonly ReceivedSpan[] => exports.flatMap((it) => (it.status === 200 ? it.spans : []))
  return {
    port: bound,
    endpoint: url,
    exports,
    spans,
    async received(test) {
      while (!test(spans(), exports)) {
        if (isEnded) throw new Error("the OTLP receiver has ended")
        await changed.promise
      }
    },
    async answerWith(answer) {
      await fetch(`${url}/answer`, { method: "PUT", body: JSON.stringify(answer) })
    },
    async [Symbol.asyncDispose]() {
      child.kill()
      await child.exited
    },
  }
}
