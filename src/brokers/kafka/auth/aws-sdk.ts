/** The parts of the AWS SDK that find credentials and sign; the build puts a bundle of them in this module's place. */
export { defaultProvider } from "@aws-sdk/credential-provider-node"
export { Sha256 } from "@smithy/core/checksum"
export { buildQueryString, type HttpRequest, HttpResponse } from "@smithy/core/protocols"
export { SignatureV4 } from "@smithy/signature-v4"
