import { CodeBlock } from "../../components/code-block.tsx"

/** What to do to see refused requests. */
export function CaptureOff() {
  return (
    <div class="nothing">
      <h2>Requests are not captured</h2>
      <p class="muted">
        Metrics and log count refused requests with their reasons. To see the requests themselves, explained,
        and to send them again, set this and reload:
      </p>
      <CodeBlock text={"[admin]\ncapture = refused"} what="configuration" />
      <p class="muted">
        The last ones are then kept in memory, in full, with known secrets masked; <code>capture = all</code>{" "}
        keeps accepted ones too.
      </p>
    </div>
  )
}
