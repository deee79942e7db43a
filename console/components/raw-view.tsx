import { useMemo, useState } from "preact/hooks"
import { textOf } from "../base64.ts"
import { formatBytes } from "../format.ts"

/** Bytes that are shown at once; the rest follows a press. */
const MOST_TEXT = 256 * 1024
const MOST_HEX = 16 * 1024

/** The exact bytes: as text where they are UTF-8, else in hexadecimal. */
export function RawView({ bytes }: { bytes: Uint8Array<ArrayBuffer> }) {
  const [isWhole, setWhole] = useState(false)
  const text = useMemo(() => textOf(bytes), [bytes])
  const most = text === undefined ? MOST_HEX : MOST_TEXT
  const shown = isWhole ? Infinity : most
  const isCut = (text?.length ?? bytes.length) > shown
  return (
    <>
      {text === undefined && <p class="json-note muted">These bytes are not UTF-8.</p>}
      <pre class="payload">
        {text === undefined
          ? hexDump(bytes.subarray(0, Math.min(bytes.length, shown)))
          : text.slice(0, shown)}
      </pre>
      {isCut && (
        <p class="json-note">
          <button type="button" onClick={() => setWhole(true)}>
            Show all {formatBytes(bytes.length)}
          </button>
        </p>
      )}
    </>
  )
}

const PRINTABLE = /[^\x20-\x7e]/g

/** Lines as `hexdump -C` writes them. */
export function hexDump(bytes: Uint8Array): string {
  const lines: string[] = []
  for (let at = 0; at < bytes.length; at += 16) {
    const row = [...bytes.subarray(at, at + 16)]
    const hex = row.map((byte) => byte.toString(16).padStart(2, "0"))
    const columns = `${hex.slice(0, 8).join(" ")}  ${hex.slice(8).join(" ")}`.padEnd(48)
    const text = String.fromCharCode(...row).replace(PRINTABLE, ".")
    lines.push(`${at.toString(16).padStart(8, "0")}  ${columns}  |${text}|`)
  }
  return lines.join("\n")
}
