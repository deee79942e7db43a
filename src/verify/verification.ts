/*
 * Verifying and signing requests of senders: what the rest of Hookline uses of it.
 */
export { secretTest } from "./crypto.ts"
export type { Fetcher } from "./fetch/fetcher.ts"
export type { Handshake } from "./handshakes/handshake.ts"
export { HANDSHAKES, challengeSigner, handshakeOf } from "./handshakes/handshakes.ts"
export { PROVIDER, defineProvider, resolveProvider } from "./presets/own-provider.ts"
export { wrongName } from "./presets/own-provider/check.ts"
export {
  PROVIDER_NAMES,
  findFamily,
  keysOf,
  makeSigner,
  makeVerifier,
  nameOf,
  usualCoverage,
  type OwnProvider,
  type ProviderRef,
  type Verification,
} from "./presets/providers.ts"
export { secretWarnings } from "./presets/secret-warnings.ts"
export { NOTHING_READ } from "./schemes/credential.ts"
export {
  WrongSetting,
  describeRequired,
  mayBeSigned,
  type Coverage,
  type Family,
  type SettingKey,
  type VerifierSettings,
} from "./schemes/family.ts"
export { parseTime } from "./schemes/freshness.ts"
export { GENERIC } from "./schemes/generic.ts"
export { toFamily } from "./schemes/scheme-form.ts"
export { SECRET_FORMS } from "./schemes/secrets.ts"
export { SETTINGS, splitSecrets, texts } from "./settings.ts"
export {
  REASON_WORDS,
  REFUSED_REASONS,
  Refused,
  Verified,
  type RefusedReason,
  type Sendable,
  type SignedRequest,
  type Signer,
  type UnsignedRequest,
  type VerificationResult,
  type Verifier,
} from "./verifier.ts"
