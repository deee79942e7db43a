import { existsSync, realpathSync, statSync } from "node:fs"
import { copyFile, mkdtemp, rename, rm } from "node:fs/promises"
import { join } from "node:path"
import { CACHE, VERSION } from "./kafka-jars.ts"
import { BOOTSTRAP_CHECKPOINT, KafkaNode } from "./kafka-node.ts"
import { freePorts } from "./ports.ts"

/** What every node starts from, so that a start takes a quarter of its time. */
export interface KafkaTemplate {
  /** The metadata that StorageTool writes for the default features. */
  readonly bootstrapCheckpoint: string
  /** The broker's classes as the virtual machine has them in memory (class data sharing). */
  readonly classArchive: string
}

/** The template of this Kafka and this Java: made by one start and stop of a broker the first time, then kept. */
export async function kafkaTemplate(classPath: string): Promise<KafkaTemplate> {
  const java = realpathSync(Bun.which("java")!)
  const made = Bun.hash(`${java} ${statSync(java).mtimeMs}`).toString(36)
  const folder = join(CACHE, `${VERSION}-${made}`)
  const template = {
    bootstrapCheckpoint: join(folder, BOOTSTRAP_CHECKPOINT),
    classArchive: join(folder, "classes.jsa"),
  }
  if (existsSync(folder)) return template
  const making = await mkdtemp(join(CACHE, "template-"))
  try {
    const [client, controller] = await freePorts(2)
    const archived = join(making, "classes.jsa")
    const jvm = [`-XX:ArchiveClassesAtExit=${archived}`]
    const node = new KafkaNode({ classPath, jvm }, join(making, "node"), `${client}`)
    const properties = {
      "node.id": "1",
      "process.roles": "broker,controller",
      "controller.quorum.voters": `1@127.0.0.1:${controller}`,
      "controller.listener.names": "CONTROLLER",
      listeners: `PLAINTEXT://127.0.0.1:${client},CONTROLLER://127.0.0.1:${controller}`,
    }
    await node.format(properties, "template", [])
    await node.start()
    await node.shutDown()
    await copyFile(join(making, "node", "data", BOOTSTRAP_CHECKPOINT), join(making, BOOTSTRAP_CHECKPOINT))
    await rm(join(making, "node"), { recursive: true })
    await rename(making, folder).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOTEMPTY" && error.code !== "EEXIST") throw error
    })
  } finally {
    await rm(making, { recursive: true, force: true })
  }
  return template
}
