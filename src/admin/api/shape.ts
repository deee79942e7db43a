import { Type } from "typebox"

export const nullable = <T extends Parameters<typeof Type.Union>[0][number]>(schema: T) =>
  Type.Union([schema, Type.Null()])

/** One of several texts. */
export const oneOf = <const Text extends string>(...texts: Text[]) =>
  Type.Unsafe<Text>({ type: "string", enum: texts })

export const count = Type.Integer({ minimum: 0 })
export const time = Type.Number({ description: "Milliseconds since 1970." })
export const Header = Type.Object({ name: Type.String(), value: Type.String() })
