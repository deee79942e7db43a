/**
 * The rooms of src/ from the top down. A file imports from its own room and from rooms of lower layers, never from a neighbour in
 * its layer. A folder that is named apart from the one around it is a room of its own.
 */
export const LAYERS: readonly (readonly string[])[] = [
  ["src/cli.ts"],
  ["src/commands"],
  ["src/index.ts"],
  ["src/runtime"],
  ["src/extensions"],
  ["src/components", "src/admin"],
  ["src/replay"],
  ["src/http", "src/brokers", "src/dedupe", "src/verify"],
  ["src/pipeline", "src/forms", "src/storage", "src/postgres", "src/config", "src/kafka-listener"],
  ["src/json", "src/telemetry", "src/kafka-protocol"],
  ["src/outgoing"],
  ["src/process", "src/addresses"],
  ["src/clock", "src/errors.ts", "src/headers.ts"],
  ["src/message.ts", "src/words.ts"],
]

/** Rooms within a room, whose doors are counted, too. */
export const INNER: readonly string[] = [
  "src/brokers/kafka",
  "src/brokers/embedded",
  "src/brokers/postgres",
  "src/brokers/spool",
]

/** What a folder or file may import besides its own files, in place of all that lies below. */
export const ALONE: readonly {
  readonly from: string
  readonly only: readonly string[]
  readonly why: string
}[] = [
  {
    from: "src/kafka-listener",
    only: ["src/kafka-protocol", "src/clock", "src/errors.ts"],
    why: "a sub-product: of Hookline it sees what its log.ts declares, the protocol, and clock",
  },
  {
    from: "src/process",
    only: ["src/clock", "src/errors.ts", "src/message.ts"],
    why: "it imports clock, errors and messages only",
  },
  { from: "src/addresses", only: ["src/clock", "src/errors.ts"], why: "it imports clock and errors only" },
  { from: "src/clock", only: [], why: "it imports nothing" },
  { from: "src/errors.ts", only: ["src/message.ts", "src/words.ts"], why: "it imports messages only" },
  { from: "src/message.ts", only: [], why: "it imports nothing" },
  { from: "src/words.ts", only: [], why: "it imports nothing" },
  { from: "src/headers.ts", only: [], why: "it imports nothing" },
  {
    from: "console",
    only: [],
    why: "of Hookline it sees the admin API's OpenAPI document alone, as types in api.ts",
  },
]

/** What a file or folder does not import, though it lies below or beside it. */
export const APART: readonly {
  readonly from: string
  readonly not: readonly string[]
  readonly except: readonly string[]
  readonly why: string
}[] = [
  {
    from: "src/commands",
    not: ["src/index.ts"],
    // for components of a user's own
    except: ["src/commands/own-components.ts"],
    why: "it takes names from their own modules",
  },
  {
    from: "src/brokers/broker.ts",
    not: ["src/brokers/kafka", "src/brokers/embedded", "src/brokers/spool", "src/brokers/memory"],
    except: [],
    why: "it knows no broker of its own",
  },
  {
    from: "src/brokers/kafka",
    not: ["src/brokers/embedded", "src/brokers/spool", "src/brokers/memory"],
    except: ["src/brokers/kafka/kind.ts"],
    why: "it imports no other broker",
  },
  {
    from: "src/brokers/embedded",
    not: ["src/brokers/kafka", "src/brokers/spool", "src/brokers/memory"],
    except: ["src/brokers/embedded/kind.ts"],
    why: "it imports no other broker",
  },
  {
    from: "src/brokers/spool",
    not: ["src/brokers/kafka", "src/brokers/memory"],
    except: [],
    why: "it stands on embedded, and imports no Kafka",
  },
]

export interface Feature {
  readonly name: string
  /** Paths of its own files begin with one of these. */
  readonly own: readonly string[]
  /** Words that name its section: in the file, in the admin API, in code. */
  readonly words: readonly string[]
}

/** What runs next to the pipelines. Few files outside its own should know one: each is to be one folder and one line in a registry. */
export const FEATURES: readonly Feature[] = [
  {
    name: "forward",
    own: [
      "src/commands/forward.ts",
      "src/commands/forwards.ts",
      "src/config/sections/forward.ts",
      "src/replay/forward.ts",
      "src/runtime/forward-specs.ts",
      "src/runtime/forwards.ts",
      "src/runtime/plan/forwards.ts",
    ],
    words: ["forward", "forwards"],
  },
  {
    name: "reconcile",
    own: ["src/extensions/reconcile/", "console/views/reconcile/"],
    words: ["reconcile", "reconciles"],
  },
  { name: "silence", own: ["src/extensions/silence/"], words: ["silence", "silences"] },
]
