import { atOnce } from "../clock/slices.ts"
import type { ConfigurationFile } from "../config/file/configuration-file.ts"
import { loadConfiguration } from "../config/file/load.ts"
import { sectionKinds } from "../extensions/registry.ts"

/** The configuration file as a command reads it, which waits for nothing else. @throws HooklineError `no_input` */
export const loadForCommand = (file: string | undefined): ConfigurationFile =>
  atOnce(loadConfiguration(file, { env: process.env, cwd: process.cwd(), kinds: sectionKinds }))
