import { serveDatabase } from "../storage/serve-database.ts"
import { openDatabase } from "./open-database.ts"

declare const self: Worker

serveDatabase(openDatabase, self)
