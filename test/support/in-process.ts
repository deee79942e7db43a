import { join } from "node:path"
import type { ApplicationOptions } from "../../src/runtime/application-options.ts"
import { Application } from "../../src/runtime/application.ts"
import { onFreePorts } from "./hookline.ts"
import { HooklineLog, type Started } from "./started.ts"

/**
 * Starts a configuration, `onFreePorts`, in this process, as code does that embeds Hookline: for what can be seen from outside of
 * its requests, records, files and log. What `hookline run` adds (signals, exit statuses, the lines `started` and
 * `reloading`, watched files) needs `startHookline`, and so does TZ.
 *
 * @param options `folder`: the file's; `env`: added to the variables that the file names
 * @throws HooklineError as the start
 */
export async function startInProcess(
  configuration: string,
  {
    folder,
    env = {},
    ...options
  }: Pick<ApplicationOptions, "components" | "onAnswer"> & {
    folder: string
    env?: { readonly [name: string]: string }
  },
): Promise<Started> {
  const file = join(folder, "pipelines.conf")
  await Bun.write(file, onFreePorts(configuration))
  const logged = new HooklineLog()
  const app = Application.fromFile(file, {
    ...options,
    env: { ...process.env, ...env },
    onLogLine: (line) => logged.take(line.trimEnd()),
  })
  await app.start()
  const stop = async (): Promise<void> => {
    await app.stop()
    logged.end()
  }
  return {
    urls: logged.urls,
    get adminUrl() {
      return logged.adminUrl
    },
    log: logged.log,
    logged: logged.logged,
    output: logged.output,
    // a reload that fails is logged
    readAgain: () => void app.reload().catch(() => {}),
    stop,
    [Symbol.asyncDispose]: stop,
  }
}
