import { expect, test } from "bun:test"
import { splitKeys, splitSecrets } from "./verifier-options.ts"

test.each([
  ["one", ["one"]],
  ["a, b,c\n d \n\n e,", ["a", "b", "c", "d", "e"]],
  ['"a,b", c', ["a,b", "c"]],
  ['" a "', [" a "]],
  ['a"b, c"', ['a"b', 'c"']],
  ['"a"b', ['"a"b']],
  ["Basic dXNlcjpwYXNz", ["Basic dXNlcjpwYXNz"]],
  [" , ", []],
])("the secrets of %j", (text, secrets) => {
  expect(splitSecrets(text)).toEqual(secrets)
})

const PEM = "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA\n-----END PUBLIC KEY-----"
const JWK = '{"kty":"EC","crv":"P-256","x":"a","y":"b"}'
test.each([
  [PEM, [PEM]],
  [`${PEM}\n${PEM},${JWK}\n${JWK}, abcd`, [PEM, PEM, JWK, JWK, "abcd"]],
  ["00ff, 11ee\n22dd", ["00ff", "11ee", "22dd"]],
])("the keys of %j", (text, keys) => {
  expect(splitKeys(text)).toEqual(keys)
})
