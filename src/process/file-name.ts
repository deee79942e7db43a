/** The ids of sections, groups of handlers, and names of replays and forwards: each is also the name of a file. */
export const FILE_NAME = {
  pattern: /^\w[\w.-]{0,99}$/,
  form: 'letters, digits, "_", "-" and ".", up to 100',
}

/** Makes a file name from any text. */
export const toFileName = (text: string): string => text.replace(/[^\w.-]/g, "-").slice(0, 100)
