import { sign, type KeyObject } from "node:crypto"
import { mkdirSync, writeFileSync } from "node:fs"
import { isIPv4 } from "node:net"
import { dirname, resolve } from "node:path"
import { newRsaKey } from "./rsa-keys.ts"

/** An X.509 certificate made for a test, and the key that it certifies. */
export interface TestCertificate {
  readonly pem: string
  readonly commonName: string
  readonly privateKey: KeyObject
}

/**
 * Makes a certificate (RFC 5280) of a new RSA key.
 *
 * @param issuer signs it; undefined: itself
 * @param hosts names and IPv4 addresses that it is for
 * @param bits of the key
 * @param days that it is valid for, from a day before `nowMs`
 */
export function makeCertificate(
  commonName: string,
  {
    issuer,
    isCa = false,
    hosts = [],
    days = 30,
    bits = 2048,
    nowMs,
  }: {
    issuer?: TestCertificate
    isCa?: boolean
    hosts?: readonly string[]
    days?: number
    bits?: number
    nowMs: number
  },
): TestCertificate {
  const { publicKey, privateKey } = newRsaKey(bits)
  const tbs = sequence(
    explicit(0, integer(2)),
    integer(serial++),
    SHA256_WITH_RSA,
    nameOf(issuer?.commonName ?? commonName),
    sequence(time(nowMs - DAY_MS), time(nowMs + (days - 1) * DAY_MS)),
    nameOf(commonName),
    publicKey.export({ format: "der", type: "spki" }),
    explicit(
      3,
      sequence(
        sequence(oid("551d13"), TRUE, octets(sequence(...(isCa ? [TRUE] : [])))),
        ...(hosts.length === 0 ? [] : [sequence(oid("551d11"), octets(sequence(...hosts.map(hostOf))))]),
      ),
    ),
  )
  const signature = sign("sha256", tbs, issuer?.privateKey ?? privateKey)
  const der = sequence(tbs, SHA256_WITH_RSA, tagged(0x03, Buffer.concat([Buffer.from([0]), signature])))
  const lines = der.toString("base64").match(/.{1,64}/g)!
  const pem = ["-----BEGIN CERTIFICATE-----", ...lines, "-----END CERTIFICATE-----", ""].join("\n")
  return { pem, commonName, privateKey }
}

const DAY_MS = 86_400_000
let serial = 1

function tagged(tag: number, content: Uint8Array): Buffer {
  const length = content.length
  const head =
    length < 128 ? [tag, length] : length < 256 ? [tag, 0x81, length] : [tag, 0x82, length >> 8, length & 255]
  return Buffer.concat([Buffer.from(head), content])
}

const sequence = (...parts: readonly Uint8Array[]): Buffer => tagged(0x30, Buffer.concat(parts))
const explicit = (n: number, part: Uint8Array): Buffer => tagged(0xa0 + n, part)
const octets = (content: Uint8Array): Buffer => tagged(0x04, content)
const oid = (hex: string): Buffer => tagged(0x06, Buffer.from(hex, "hex"))
const integer = (value: number): Buffer => tagged(0x02, Buffer.from([value]))
const TRUE = Buffer.from([0x01, 0x01, 0xff])
const SHA256_WITH_RSA = sequence(oid("2a864886f70d01010b"), Buffer.from([0x05, 0x00]))

const nameOf = (commonName: string): Buffer =>
  sequence(tagged(0x31, sequence(oid("550403"), tagged(0x0c, Buffer.from(commonName)))))

/** A GeneralName: an address or a DNS name. */
const hostOf = (host: string): Buffer =>
  isIPv4(host)
    ? tagged(0x87, Buffer.from(host.split(".").map(Number)))
    : tagged(0x82, Buffer.from(host, "latin1"))

/** GeneralizedTime, to the second. */
const time = (ms: number): Buffer =>
  tagged(0x18, Buffer.from(`${new Date(ms).toISOString().replace(/[-:T]|\..*$/g, "")}Z`))

/** Makes the PEM files that a configuration names, below a folder: certificates all of one key, and that key. */
export function withPemFiles(configuration: string, folder: string): void {
  const named = [...configuration.matchAll(/^\s*(\w+) = (\S+\.(?:pem|key))$/gm)]
  if (named.length === 0) return
  const { pem, privateKey } = makeCertificate("example", { nowMs: Date.now() })
  const key = privateKey.export({ format: "pem", type: "pkcs8" }).toString()
  for (const [, option = "", file = ""] of named) {
    const path = resolve(folder, file)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, /_key(_|$)/.test(option) ? key : pem)
  }
}
