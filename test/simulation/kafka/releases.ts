/** A release of Kafka: the versions that its brokers speak, by the key of the API, and how they judge. */
export interface Release {
  readonly name: string
  readonly versions: { readonly [apiKey: number]: readonly [least: number, most: number] }
  /** A producer that is not known has to begin with sequence 0. */
  readonly isStrict: boolean
  /** Metadata has the ids of topics. */
  readonly hasTopicIds: boolean
}

const PRODUCE = 0
const METADATA = 3
const API_VERSIONS = 18
const CREATE_TOPICS = 19
const INIT_PRODUCER_ID = 22
const DESCRIBE_CONFIGS = 32

export const RELEASES: { readonly [name: string]: Release } = {
  "4.1": {
    name: "4.1",
    versions: {
      [PRODUCE]: [0, 12],
      [METADATA]: [0, 13],
      [API_VERSIONS]: [0, 4],
      [CREATE_TOPICS]: [2, 7],
      [INIT_PRODUCER_ID]: [0, 5],
      [DESCRIBE_CONFIGS]: [1, 4],
    },
    isStrict: false,
    hasTopicIds: true,
  },
  "3.9": {
    name: "3.9",
    versions: {
      [PRODUCE]: [0, 11],
      [METADATA]: [0, 12],
      [API_VERSIONS]: [0, 4],
      [CREATE_TOPICS]: [0, 7],
      [INIT_PRODUCER_ID]: [0, 5],
      [DESCRIBE_CONFIGS]: [0, 4],
    },
    isStrict: false,
    hasTopicIds: true,
  },
  "2.4": {
    name: "2.4",
    versions: {
      [PRODUCE]: [0, 8],
      [METADATA]: [0, 9],
      [API_VERSIONS]: [0, 3],
      [CREATE_TOPICS]: [0, 5],
      [INIT_PRODUCER_ID]: [0, 2],
      [DESCRIBE_CONFIGS]: [0, 2],
    },
    isStrict: true,
    hasTopicIds: false,
  },
  "2.1": {
    name: "2.1",
    versions: {
      [PRODUCE]: [0, 7],
      [METADATA]: [0, 7],
      [API_VERSIONS]: [0, 2],
      [CREATE_TOPICS]: [0, 3],
      [INIT_PRODUCER_ID]: [0, 1],
      [DESCRIBE_CONFIGS]: [0, 2],
    },
    isStrict: true,
    hasTopicIds: false,
  },
}
