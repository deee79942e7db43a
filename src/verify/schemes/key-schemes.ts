/*
 * The schemes of certificates, key pairs and JSON Web Tokens, which need node:crypto. In bundles without it
 * key-schemes.browser.ts takes the place of this file.
 */
export { anyPrivateKey, ecdsaSignature, ed25519Signature, rsaSignature } from "./asymmetric.ts"
export { awsSns } from "./aws-sns.ts"
export { jwt } from "./jwt.ts"
export { graphTokens } from "./ms-graph-tokens.ts"
export { paypal } from "./paypal.ts"
