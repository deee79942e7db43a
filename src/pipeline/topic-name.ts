/** The names that Kafka allows: org.apache.kafka.common.internals.Topic. */
export const TOPIC_NAME = {
  pattern: /^(?!\.{1,2}$)[a-zA-Z0-9._-]{1,249}$/,
  form: "a topic name: 1 to 249 letters, digits, dots, underscores and hyphens",
}

/** The characters of a topic name. */
export const isPartOfTopicName = (text: string): boolean => /^[a-zA-Z0-9._-]*$/.test(text)
