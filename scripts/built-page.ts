import { builtPage } from "../src/admin/built-page.ts"

/** The module that takes the place of src/admin/built-page.ts where its sources are not: the page's files as constants. */
export async function builtPageModule(): Promise<string> {
  return `const page = ${JSON.stringify(await builtPage())}\nexport const builtPage = async () => page\n`
}
