/** `messaging-crm mcp` as a program, which an agent calls over stdin and stdout. */
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js"
import { environment, program } from "../../testing/processes/Programs.ts"
import * as AgentScene from "../mcp/AgentScene.ts"

/** Starts the program, and connects an agent to it. */
export const connect = (
  flags: ReadonlyArray<string>,
  variables: { readonly API_KEY: string; readonly BASE_URL: string }
) =>
  AgentScene.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [program("main"), "mcp", ...flags],
      env: { PATH: process.env["PATH"] ?? "", LOG_LEVEL: "error", ...environment, ...variables }
    })
  )
