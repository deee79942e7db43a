import { count, Header, nullable, oneOf, replica, type Static, time, Type } from "./shape.ts"

export const CaptureSummary = Type.Object({
  id: Type.String(),
  request_id: Type.String({ description: "As in log lines about the request." }),
  at: Type.Number({ description: "When it was answered, in milliseconds since 1970." }),
  pipeline: nullable(Type.String()),
  method: Type.String(),
  path: Type.String(),
  remote_address: Type.String(),
  outcome: oneOf("accepted", "dropped", "rejected", "answered"),
  status: Type.Integer(),
  reason: Type.String(),
  words: Type.String(),
  detail: nullable(Type.String({ description: "The particulars, as in the log." })),
  bytes: nullable(Type.Integer({ minimum: 0, description: "Of the body; null: it was not read." })),
  replica,
})

/** How many requests of a pipeline ended for one reason, kept or not. */
export const ReasonTally = Type.Object({
  pipeline: nullable(Type.String({ description: "null: none has their path." })),
  outcome: oneOf("rejected", "dropped"),
  reason: Type.String(),
  words: Type.String({ description: "The reason in a sentence." }),
  status: Type.Integer({ description: "Of the last one, as its detail." }),
  detail: nullable(Type.String()),
  count,
  first_at: time,
  last_at: time,
  advice: nullable(Type.String({ description: "What to do, in a sentence." })),
  sparkline: Type.Array(nullable(Type.Number()), {
    description:
      "A second, of the last 15 minutes, the oldest first; null: before the start. Of no pipeline: none.",
  }),
  verified: nullable(
    Type.Object(
      { count, last_at: nullable(time) },
      {
        description:
          "Events of the pipeline that were verified, since the start of each process; null: the reason is not its verification.",
      },
    ),
  ),
})

export const CaptureDetail = Type.Object({
  summary: CaptureSummary,
  url: Type.String(),
  came_at: Type.Number({
    description: "When it first came, in milliseconds since 1970: the time that it is verified by.",
  }),
  headers: Type.Array(Header, { description: "Secrets and signatures masked." }),
  body_base64: nullable(
    Type.String({
      description:
        "As received, decompressed, with secrets and signatures masked; null: it was not read, or not kept.",
    }),
  ),
  is_masked: Type.Boolean({ description: "Whether something in URL, headers or body is masked." }),
  is_truncated: Type.Boolean({
    description:
      "Whether a body was read that was not kept: too large, or let go of while its event waited for the broker.",
  }),
  detail: nullable(Type.String()),
  record: nullable(
    Type.Object({
      connection: Type.String(),
      topic: Type.String(),
      partition: Type.Integer(),
      offset: Type.Integer(),
    }),
  ),
})

/** A request to be explained: with a pipeline's settings, or with a sender's preset and a secret. */
export const VerifyRequest = Type.Object({
  text: Type.String({
    description: "A curl command, a raw HTTP request, its headers and body, or JSON with headers and body.",
  }),
  pipeline: Type.Optional(Type.String()),
  provider: Type.Optional(Type.String({ description: "Missing: the one whose headers the request has." })),
  secret: Type.Optional(Type.String({ maxLength: 10_000 })),
})

/** What `hookline verify` says of a captured request. */
export const CaptureExplanation = Type.Object({
  provider: nullable(Type.String()),
  is_verified: Type.Boolean(),
  reason: nullable(Type.String({ description: "Why it is not verified, as a fixed word." })),
  detail: nullable(Type.String()),
  result: Type.String({ description: "The result as a sentence." }),
  steps: Type.Array(
    Type.Object({
      name: Type.String(),
      state: oneOf("passed", "failed", "not reached"),
      lines: Type.Array(Type.String()),
    }),
  ),
  mistakes: Type.Array(
    Type.Object({
      kind: Type.String({ description: "A fixed word." }),
      problem: Type.String(),
      remedy: Type.String(),
      is_certain: Type.Boolean({ description: "Found by trial; else a possible cause." }),
    }),
  ),
  sender: nullable(Type.String({ description: "What the sender does after the answer; null: not known." })),
  advice: nullable(
    Type.Object(
      {
        text: Type.String(),
        excerpt: nullable(
          Type.String({ description: "Where the body is no JSON: the text, and a mark beneath the place." }),
        ),
        configuration: nullable(Type.String({ description: "Lines of pipelines.conf that would mend it." })),
      },
      {
        description:
          "What to do about a request that was refused for another reason than its signature; null: nothing is known.",
      },
    ),
  ),
  configuration: nullable(Type.String({ description: "Lines of pipelines.conf that would mend it." })),
  note: nullable(Type.String()),
  warnings: Type.Array(Type.String(), { description: "Doubts about the secrets." }),
})

/** The answer that a sent or repeated request got. */
export const SendResult = Type.Object({
  status: Type.Integer({ description: "0: no answer." }),
  duration_ms: Type.Number(),
  headers: Type.Array(Header),
  body: Type.String(),
  error: nullable(Type.String()),
  record: CaptureDetail.properties.record,
})

export const SampleRequest = Type.Object({
  pipeline: Type.String(),
  provider: nullable(Type.String({ description: "Whose event it is; null: anybody's." })),
  method: Type.String(),
  url: Type.String(),
  content_type: Type.String(),
  body: Type.String(),
  signed: Type.Boolean({
    description: "Whether it is signed with the pipeline's own secret when it is sent.",
  }),
  problem: nullable(Type.String({ description: "Why it can't be signed; null: it can, or need not be." })),
})

export const SendRequest = Type.Object({
  pipeline: Type.String({ maxLength: 249 }),
  body: Type.String(),
  content_type: Type.Optional(Type.String({ maxLength: 200, description: "Default: the sample's." })),
  provider: Type.Optional(
    Type.String({
      maxLength: 100,
      description: "Whose event it is, if not that of the pipeline's provider: its headers are sent, too.",
    }),
  ),
  signed: Type.Optional(
    Type.Boolean({ default: true, description: "false: as somebody without the secret." }),
  ),
})

export type VerifyRequest = Static<typeof VerifyRequest>
export type CaptureSummary = Static<typeof CaptureSummary>
export type ReasonTally = Static<typeof ReasonTally>
export type CaptureDetail = Static<typeof CaptureDetail>
export type CaptureExplanation = Static<typeof CaptureExplanation>
export type SendResult = Static<typeof SendResult>
export type SampleRequest = Static<typeof SampleRequest>
export type SendRequest = Static<typeof SendRequest>
