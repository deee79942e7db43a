import { expect, test } from "bun:test"
import { parsePostgresUrl } from "./postgres-url.ts"

test.each<[string, object]>([
  [
    "postgres://db.example/hooks",
    { host: "db.example", port: 5432, database: "hooks", sslmode: "verify-full" },
  ],
  ["postgresql://db.example", { database: undefined, user: undefined, password: undefined }],
  ["postgres://localhost:6432/a", { port: 6432, sslmode: "disable" }],
  ["postgres://[::1]/a", { host: "::1", sslmode: "disable" }],
  ["postgres://127.0.0.1/a?sslmode=verify-full", { sslmode: "verify-full" }],
  ["postgres://u%40x:p%3A%2F@h/d%20b", { user: "u@x", password: "p:/", database: "d b" }],
  ["postgresql://u:p@ep-1.example/d?sslmode=require&channel_binding=require", { sslmode: "require" }],
  ["postgres://h/d?options=endpoint%3Dep-1", { options: "endpoint=ep-1" }],
])("%s", (url, parts) => {
  expect(parsePostgresUrl(url)).toMatchObject(parts)
})

test("the name for messages has neither user nor password", () => {
  expect(parsePostgresUrl("postgres://u:secret@h/d?sslmode=disable")!.name).toBe("postgres://h:5432/d")
})

test.each([
  "mysql://h/d",
  "postgres:///d",
  "postgres://h/d?sslmode=prefer",
  "postgres://h/d?target_session_attrs=any",
  "postgres://h/%zz",
  "h:5432",
])("%s is refused", (url) => {
  expect(parsePostgresUrl(url)).toBeUndefined()
})
