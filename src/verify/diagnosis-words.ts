import type { RefusedReason } from "./verifier.ts"

/** The words for why a request was refused and what went wrong, the same wherever people read them. */

/** What each reason means. */
export const REASON_WORDS: { readonly [reason in RefusedReason]: string } = {
  missing_header: "what carries the signature, the token, the time or the id is not there, or empty",
  malformed: "it does not have the form that the scheme gives it",
  stale: "it was signed longer ago than the tolerance allows",
  future: "it is signed for a time further ahead than the tolerance allows",
  no_match: "no secret or key matches what was presented",
  wrong_claim: "it is signed, but by or for somebody else",
  duplicate_member: "an object of the body has two members of one name, and consumers may read the other one",
  replayed: "its signed id was used before, with another body",
  keys_unavailable: "the provider's keys could not be fetched, so nothing is known of the signature",
}

interface Words {
  /** What is the matter, as a sentence; `detail` is what is peculiar to the case. */
  readonly says: (detail: string) => string
  /** What to do about it. */
  readonly remedy: string
}

const RAW_BYTES = "Keep the request's raw bytes, and verify before anything parses or prints them."

/** What may be wrong with a refused request. */
export const MISTAKE_WORDS = {
  header_missing: {
    says: (names) => `The request has no ${names}.`,
    remedy:
      "Providers sign only when a secret is set on their side; else a proxy, or what captured the request, left it out.",
  },
  header_empty: {
    says: (names) => `The request has ${names}, but nothing in it.`,
    remedy: "A proxy, or what captured the request, took the value out.",
  },
  header_twice: {
    says: (names) => `The request has ${names} twice; with one it is right.`,
    remedy: "Let exactly one arrive: a proxy added it again, or two parts of the sender did.",
  },
  header_other: {
    says: (names) => `The signature is right, but in another header: ${names}.`,
    remedy: "A proxy renamed it, or the sender is not the provider: the kind hmac takes any header.",
  },
  signature_spelling: {
    says: (spelling) => `The signature is right, but spelled another way: ${spelling}.`,
    remedy: "The sender is not the provider itself: let it sign as the provider does, or use the kind hmac.",
  },
  signature_scheme: {
    says: (way) => `The signature is made with this secret, but another way: ${way}.`,
    remedy: "Choose the preset of the sender's scheme, or the kind hmac, which takes any.",
  },
  body_reserialised: {
    says: (style) =>
      `The body was parsed and written again: the signature is of the same JSON, written ${style}.`,
    remedy: RAW_BYTES,
  },
  body_changed: {
    says: (change) => `The body was changed after it was signed: the signature is of it ${change}.`,
    remedy: RAW_BYTES,
  },
  body_bit: {
    says: (place) => `One bit of the body was changed after it was signed: ${place}.`,
    remedy: "It was edited, or damaged on its way.",
  },
  secret_around: {
    says: (what) => `The secret has ${what} around it; without, it is right.`,
    remedy: "Take it out of the configuration, the environment or the file that holds the secret.",
  },
  secret_form: {
    says: (form) => `The signature is made with this secret, but in another form: ${form}.`,
    remedy: "Set the secret as the provider shows it, whole, and check that this is the sender's preset.",
  },
  url_other: {
    says: (url) => `The signature is of another URL: ${url}`,
    remedy:
      "Set public_url to the URL that the provider was given, or trusted_proxies to the proxies in front.",
  },
  time_off: {
    says: (detail) => `The signature is right; only its time is not: ${detail}.`,
    remedy:
      "It came late, was captured and sent again, or a clock is wrong. The tolerance is there to be set where senders retry with old times.",
  },
  time_unit: {
    says: (units) => `The signature is right, but its time is in another unit: ${units}.`,
    remedy: "The sender is not the provider itself: let it write times as the provider does.",
  },
  provider_other: {
    says: (names) => `With this secret the request is right for another preset: ${names}.`,
    remedy: "Set provider to the one that sends.",
  },
  signature_too: {
    says: () => "Not only its time is wrong: the signature does not match either.",
    remedy: "Put the signature right first; the time is signed with the rest.",
  },
  secret_wrong: {
    says: () => "The secret may be another endpoint's, an older one, or a test secret for a live endpoint.",
    remedy: "Compare it with the provider's page of this very endpoint and mode; nothing in a request tells.",
  },
  body_unlike: {
    says: () => "Or the body is not, byte for byte, what was signed.",
    remedy: RAW_BYTES,
  },
  body_empty: {
    says: () => "The body is empty.",
    remedy: "Something read it before: a stream can be read once.",
  },
  body_decoded: {
    says: () => "The body has U+FFFD in it: bytes that are no UTF-8 were lost when it was decoded as text.",
    remedy: RAW_BYTES,
  },
  body_truncated: {
    says: () => "The body is said to be JSON and is none: it was cut off or changed.",
    remedy: RAW_BYTES,
  },
  url_unlike: {
    says: (url) => `The provider signs the URL, which was taken to be ${url}`,
    remedy: "Set public_url to the URL that the provider was given, to the letter.",
  },
} as const satisfies { readonly [kind: string]: Words }

export type MistakeKind = keyof typeof MISTAKE_WORDS

/** Something that is wrong with a request, or may be. */
export interface Mistake {
  readonly kind: MistakeKind
  /** What is peculiar to the case. Holds no secret. */
  readonly detail: string
}

/** What is the matter, and what to do about it. */
export function describeMistake({ kind, detail }: Mistake): { says: string; remedy: string } {
  const { says, remedy }: Words = MISTAKE_WORDS[kind]
  return { says: says(detail), remedy }
}
