/** The server of the Model Context Protocol's SDK; the build puts a bundle of it in this module's place. */
export { type CallToolResult, fromJsonSchema, McpServer } from "@modelcontextprotocol/server"
export { serveStdio } from "@modelcontextprotocol/server/stdio"
