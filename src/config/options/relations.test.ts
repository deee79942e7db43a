import { expect, test } from "bun:test"
import { oneOf, text } from "./option-types.ts"
import { describeRelations, only } from "./relations.ts"
import { Problems } from "../file/problems.ts"
import { resolveSection } from "./resolve.ts"
import { defineSection } from "./section.ts"

const SECTION = defineSection({
  title: "service",
  aliases: [],
  summary: "",
  options: {
    store: text({ form: "off, or a path", formOn: "a path", default: "off", doc: "" }),
    ...only({ store: "on" }, { store_size: text({ optional: true, doc: "" }) }, "warning"),
    scheme: oneOf(["none", "basic", "token"], { default: "none", doc: "" }),
    ...only(
      { scheme: ["basic", "token"] },
      {
        realm: text({ optional: true, doc: "" }),
        ...only(
          { scheme: ["basic"] },
          {
            user: text({ optional: true, requiredThen: true, doc: "" }),
            password: text({ optional: true, needs: "user", excludes: "password_file", doc: "" }),
            password_file: text({ optional: true, doc: "" }),
          },
        ),
      },
    ),
  },
})

function problemsOf(inCode: { readonly [key: string]: string }): readonly string[] {
  const problems = new Problems(undefined)
  resolveSection(SECTION, { address: "service", section: undefined, inCode, baseDir: "/" }, problems)
  return [...problems.lines, ...problems.warnings].map((line) =>
    line.replace("in code: service, option ", ""),
  )
}

test.each<[problem: string, inCode: { [key: string]: string }, found: string[]]>([
  ["neither of the groups is used", {}, []],
  ["all that belong together are given", { scheme: "basic", user: "a", password: "b", realm: "c" }, []],
  ["an option of a group may be left out", { scheme: "token" }, []],
  [
    "an option that is off counts as absent",
    { storeSize: "1" },
    ["storeSize: has no effect without store; add store: <a path>, or remove this"],
  ],
  ["an option with any value but off is on", { store: "data", storeSize: "1" }, []],
  [
    "the innermost group names the values that an option is used with",
    { user: "a" },
    ['user: has no effect with scheme: "none"; remove it, or set scheme: "basic"'],
  ],
  [
    "every value that an option is used with is named",
    { realm: "a" },
    ['realm: has no effect with scheme: "none"; remove it, or set scheme: "basic" or "token"'],
  ],
  ["a required option is missing", { scheme: "basic" }, ['user: is required by scheme: "basic"']],
  [
    "of two that exclude each other the later one is named",
    { scheme: "basic", user: "a", password: "b", passwordFile: "c" },
    ["password: conflicts with passwordFile; remove one of them"],
  ],
  [
    "a wrong value decides nothing",
    { scheme: "hmac", user: "a" },
    ['scheme: "hmac" is not one of none, basic, token'],
  ],
])("%s", (_, inCode, found) => {
  expect(problemsOf(inCode)).toEqual(found)
})

test("the reference says what an option belongs to", () => {
  const { store_size, realm, user, password } = SECTION.options
  expect([store_size, realm, user, password].map(({ relations }) => describeRelations(relations))).toEqual([
    ["Only with `store`."],
    ["Only with `scheme` `basic` or `token`."],
    ["Required with `scheme` `basic`."],
    ["Only with `scheme` `basic`.", "Needs `user`.", "Not together with `password_file`."],
  ])
})
