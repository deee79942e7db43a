import type { Page } from "./page.ts"

/** The figures of docs/reliability.md, with a headline. */
export function proofPage(reliability: string): Page {
  const [all, seed, minutes, faults, requests, acknowledged] =
    /Seed (\d+), (\d+) minutes, .*?(\d+) faults\. (\d+ events in \d+ requests): (\d+) acknowledged.*/.exec(
      reliability,
    ) ?? []
  const rows = [...reliability.matchAll(/^\| .+? \| +\d+ \| +(\d+) \| +\d+ \| +(\d+) \|/gm)]
  const anomalies = /^\| anomaly [^]*?\n\n/m.exec(reliability)?.[0]
  const kinds = /^\| fault +\| times \|[^]*?\n\n/m.exec(reliability)?.[0]
  if (all === undefined || rows.length === 0 || anomalies === undefined || kinds === undefined)
    throw new Error("docs/reliability.md no longer has the figures of the page of the proof")
  const sumOf = (column: 1 | 2): number => rows.reduce((sum, row) => sum + Number(row[column]), 0)
  const lost = sumOf(2) + Number(/`lost-write`.*\| +(\d+) \|/.exec(anomalies)![1])
  const markdown = `# ${count(faults!)} faults, ${count(acknowledged!)} acknowledged events, ${lost} lost

For ${minutes} minutes random faults fell on Hookline and three brokers of Kafka, two at a time, while 36 senders posted. Each event that was acknowledged was looked for in the log.

${all}

${kinds}
What was looked for, and how often it was found:

${anomalies}
Faults that are tried one by one, each at full length: ${rows.length} scenarios, ${count(sumOf(1))} acknowledged events, ${sumOf(2)} lost. [Reliability](reliability.md) has a row for each, says how they are tested, and [what is not promised](reliability.md#what-is-not-promised).

To run it again, as root: \`npm run test:histories -- --minutes ${minutes} --seed ${seed}\`, ${requests}. \`npm run test:faults\` runs the scenarios.
`
  return { route: "proof", file: "docs/proof.md", markdown }
}

const count = (figure: string | number): string => Number(figure).toLocaleString("en")
