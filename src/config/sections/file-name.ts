/** Ids of sections, groups of handlers and names of replays and forwards, which are names of files, too. */
export const FILE_NAME = {
  pattern: /^\w[\w.-]{0,99}$/,
  form: 'letters, digits, "_", "-" and ".", up to 100',
}

/** A name that is made of another text. */
export const toFileName = (text: string): string => text.replace(/[^\w.-]/g, "-").slice(0, 100)
