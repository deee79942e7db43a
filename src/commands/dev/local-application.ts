import { randomBytes } from "node:crypto"
import { resolve } from "node:path"
import { brokerSink } from "../../components/broker-sink.ts"
import { decoder } from "../../components/decoder.ts"
import { enricher } from "../../components/enricher.ts"
import { validator } from "../../components/validator.ts"
import { verifier } from "../../components/verifier.ts"
import { webHookSource } from "../../components/webhook-source.ts"
import { camelCase } from "../../message.ts"
import { HooklineError, opening } from "../../errors.ts"
import { Application } from "../../runtime/application.ts"
import type { ApplicationOptions } from "../../runtime/application-options.ts"
import { embeddedConnection } from "../../runtime/connection-spec.ts"
import { Pipeline } from "../../runtime/pipeline.ts"
import { logIn, makeFolderOf } from "../../storage/database-file.ts"
import { decodingOf } from "../../verify/senders.ts"
import {
  findFamily,
  makeVerifier,
  type ProviderRef,
  type VerifierSettings,
  WrongSetting,
} from "../../verify/verification.ts"
import { providerOf, readSettings, toUsage, usage, type VerifierFlags } from "../verifier-flags.ts"

export interface LocalFlags extends VerifierFlags {
  readonly port: number
  readonly path: string
  readonly publicUrl?: string
  /** The log's folder. */
  readonly directory: string
  /** Port of the admin listener. */
  readonly adminPort: number
}

/** How a local application verifies. */
export interface LocalVerification {
  readonly provider: ProviderRef
  readonly settings: VerifierSettings
  /** Whether the secret was made for this run. */
  readonly isTest: boolean
}

/** @throws HooklineError `usage`, `no_input`; undefined: nobody is verified */
export function localVerification(flags: VerifierFlags): LocalVerification | undefined {
  const { provider: name, secret, secretFile, publicKey, set } = flags
  if (name === undefined) {
    if (secret !== undefined || secretFile !== undefined || publicKey !== undefined || set !== undefined)
      throw usage("--provider is missing: secrets and settings are those of a provider")
    return undefined
  }
  const provider = providerOf(flags)
  const settings = readSettings(flags, process.env)
  const wrong = wrongSetting(provider, settings)
  if (wrong === undefined) return { provider, settings, isTest: false }
  const made = settings.secret === undefined ? makeTestSecret(provider, settings) : undefined
  if (made === undefined) throw toUsage(wrong)
  return { provider, settings: { ...settings, secret: [made] }, isTest: true }
}

/** One pipeline, `webhooks`, from a loopback port to an embedded log, composed as a library user would. */
export function localApplication(
  flags: LocalFlags,
  verification: LocalVerification | undefined,
  options: ApplicationOptions,
): Application {
  const { port, path, publicUrl, directory, adminPort } = flags
  const folder = resolve(directory)
  opening("--directory", () => makeFolderOf(logIn(folder), folder))
  const decodes = verification !== undefined && decodingOf(verification.provider) !== undefined
  const app = new Application({
    ...options,
    admin: { listen: `127.0.0.1:${adminPort}`, capture: "all", replayUrls: ["*"] },
  })
  const log = app.registerConnection("log", embeddedConnection({ directory: folder }))
  return app.addPipeline(
    new Pipeline("webhooks", {
      source: webHookSource({ host: "127.0.0.1", port, path, publicUrl }),
      processors: [
        ...(verification === undefined ? [] : [verifier(inCode(verification))]),
        ...(decodes ? [decoder()] : []),
        validator(),
        enricher(),
      ],
      sink: brokerSink({ connection: log, topic: "webhooks" }),
    }),
  )
}

function inCode({ provider, settings }: LocalVerification): Parameters<typeof verifier>[0] {
  const given = Object.entries(settings).map(([key, value]) => [camelCase(key), value])
  return { provider, ...(Object.fromEntries(given) as object) }
}

const FLAGS: { readonly [option: string]: string | undefined } = {
  port: "--port",
  path: "--path",
  publicUrl: "--public-url",
  directory: "--directory",
  listen: "--admin-port",
}

/** What keeps a local application from running, with the flag to change in place of the option in code. */
export function namedByFlags(error: unknown): unknown {
  if (!(error instanceof HooklineError)) return error
  const message = error.message
    .replace(/^in code: .*?, option (\w+): /gm, (place, option: string) => {
      const flag = FLAGS[option]
      return flag === undefined ? place : `${flag}: `
    })
    .replaceAll(', or set listen: "off"', "")
  return new HooklineError(error.code, message, { cause: error })
}

/** A random secret in the provider's own form; undefined: with these settings it needs something else, such as a public key. */
export function makeTestSecret(provider: ProviderRef, settings: VerifierSettings): string | undefined {
  const bytes = randomBytes(32)
  const isPrefixed = findFamily(provider)?.secretForm?.startsWith("whsec_") === true
  const secret = isPrefixed ? `whsec_${bytes.toString("base64")}` : bytes.toString("hex")
  return wrongSetting(provider, { ...settings, secret: [secret] }) === undefined ? secret : undefined
}

/** Why no Verifier can be made of the settings; undefined: one can. */
export function wrongSetting(provider: ProviderRef, settings: VerifierSettings): WrongSetting | undefined {
  try {
    makeVerifier(provider, settings)
    return undefined
  } catch (error) {
    if (error instanceof WrongSetting) return error
    throw error
  }
}
