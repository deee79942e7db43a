/** A topic of a connection, as options name it. */
export const TOPIC_PLACE = { pattern: /^.+\/[^/@\s]+$/s, form: "<connection>/<topic>" }

export interface TopicPlace {
  readonly connection: string
  readonly topic: string
}

/** @param text `<connection>/<topic>` */
export function parseTopicPlace(text: string): TopicPlace {
  const at = text.lastIndexOf("/")
  return { connection: text.slice(0, at), topic: text.slice(at + 1) }
}
