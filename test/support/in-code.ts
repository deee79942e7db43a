import { camelCase } from "../../src/message.ts"

/** Options with the keys of the file, as code gives them. */
export const inCode = (values: object): { [option: string]: never } =>
  Object.fromEntries(Object.entries(values).map(([key, value]) => [camelCase(key), value as never]))
