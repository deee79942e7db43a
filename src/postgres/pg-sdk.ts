/** The client of PostgreSQL; the build puts a bundle of it in this module's place. */
export { Client, type QueryResult } from "pg"
