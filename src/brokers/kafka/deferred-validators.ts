/**
 * The client library compiles 38 validators of options while it is loaded, which takes 0.4 s of CPU; Hookline calls a few. Where this
 * module is loaded before the library, each validator is compiled by its first call.
 */
import { Ajv2020, type AnySchema, type ValidateFunction } from "ajv/dist/2020.js"

const prototype: Partial<Ajv2020> = Ajv2020.prototype
const { compile } = Ajv2020.prototype

prototype.compile = function (this: Ajv2020, schema: AnySchema): ValidateFunction {
  let compiled: ValidateFunction | undefined
  const validate = (data: unknown): boolean => {
    compiled ??= compile.call(this, schema)
    const isValid = compiled(data)
    deferred.errors = compiled.errors ?? null
    return isValid
  }
  // what else a compiled function has is read by nobody
  const deferred = validate as ValidateFunction
  return deferred
} as typeof compile

/** Has schemas compiled at once again; for when the library is loaded. */
export function endDeferral(): void {
  // it is inherited
  delete prototype.compile
}
