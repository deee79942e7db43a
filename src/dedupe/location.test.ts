import { expect, test } from "bun:test"
import { isStore, locate } from "./location.ts"

const home = { pipeline: "p", logDirectory: undefined, baseDir: "/etc/hookline" }

test.each([
  ["embedded", "/etc/hookline/hookline-data"],
  ["/var/lib/dedupe", "/var/lib/dedupe"],
  ["/var/lib/../lib/dedupe/", "/var/lib/dedupe"],
  ["memory", "memory of p"],
  ["redis://cache.example.net", "redis://cache.example.net"],
  ["redis://user:obviously-fake@cache.example.net:6380/3", "redis://cache.example.net:6380/3"],
  ["rediss://:obviously-fake@[2001:db8::1]:6380/", "rediss://[2001:db8::1]:6380"],
  [
    "redis+sentinel://user:obviously-fake@s1,s2:26380/mymaster/2?sentinel_password=obviously-fake",
    "redis+sentinel://s1,s2:26380/mymaster/2",
  ],
  ["rediss+cluster://:obviously%2Dfake@[2001:db8::1]:7000,n2", "rediss+cluster://[2001:db8::1]:7000,n2"],
])("%s is %s", (text, name) => {
  expect(isStore(text)).toBe(true)
  expect(locate(text, home).name).toBe(name)
})

test("a pipeline that publishes to an embedded log has its keys next to it", () => {
  expect(locate("embedded", { ...home, logDirectory: "/var/lib/log" }).name).toBe("/var/lib/log")
})

test.each([
  "",
  "redis://",
  "redi://cache.example.net",
  "http://cache.example.net",
  "redis://cache.example.net/name",
  "redis://cache.example.net:port",
  "redis://cache.example.net?db=1",
  "redis://one.example.net,two.example.net",
  "redis://:%zz@cache.example.net",
  "redis+sentinel://s1,s2",
  "redis+sentinel://s1,/mymaster",
  "redis+cluster://n1,n2/1",
  "redis+cluster://n1?sentinel_password=obviously-fake",
  "redis+both://n1",
])("%p is no store", (text) => {
  expect(isStore(text)).toBe(false)
})
