import { makeApi, type ApiDeps } from "../src/admin/api/api.ts"
import { sectionLists } from "../src/extensions/registry.ts"
import type { Peer } from "../src/http/peer.ts"

/** The OpenAPI document of the admin API, as a running service answers it. */
export async function adminApiDocument(): Promise<unknown> {
  // no service is asked for the document
  const api = makeApi({
    service: { sectionLists },
    admission: () => ({ tokenOf: () => "none" }),
  } as unknown as ApiDeps)
  const asked = new Request("http://localhost/api/openapi.json")
  return (await api.answer(asked, {} as Peer)).json()
}
