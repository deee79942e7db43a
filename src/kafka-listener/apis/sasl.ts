import { ERROR } from "../protocol/error-codes.ts"
import { SaslAuthenticate, SaslHandshake } from "../protocol/messages.ts"
import { served } from "./context.ts"

/** After version 0 the client's messages come as frames of their own, without the protocol's headers. */
export const saslHandshake = served(SaslHandshake, ({ mechanism }, { authentication, version }) => ({
  errorCode: authentication.begin(mechanism, version === 0) ? ERROR.NONE : ERROR.UNSUPPORTED_SASL_MECHANISM,
  mechanisms: authentication.mechanisms,
}))

export const saslAuthenticate = served(SaslAuthenticate, ({ authBytes }, { authentication }) => {
  const step = authentication.take(authBytes)
  if (step !== "refused") return { authBytes: step.reply }
  return { errorCode: ERROR.SASL_AUTHENTICATION_FAILED, errorMessage: "Authentication failed" }
})
