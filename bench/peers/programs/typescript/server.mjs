// Server of the TypeScript SDK: `node server.mjs stdio`, or `node server.mjs http json|sse TOOLS`.

import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import {
  localhostHostValidation,
  localhostOriginValidation,
  NodeStreamableHTTPServerTransport,
  toNodeHandler,
} from "@modelcontextprotocol/node";
import * as z from "zod/v4";

const [transport, form, tools] = process.argv.slice(2);
const TEXT = "x".repeat(1 << 20);
const DATA = Buffer.from(Uint8Array.from({ length: 1 << 20 }, (_, index) => index % 256));
const NUMBERS = z.object({ a: z.number().int(), b: z.number().int() });
const NOTHING = z.object({ text: z.string(), count: z.number().int().default(1) });
const TOTAL = z.object({ result: z.number().int() });

const sum = ({ a, b }) => ({
  content: [{ type: "text", text: String(a + b) }],
  structuredContent: { result: a + b },
});

function makeServer() {
  const server = new McpServer({ name: "add", version: "1.0.0" });
  const description = "Add two numbers.";
  const schemas = { inputSchema: NUMBERS, outputSchema: TOTAL };
  server.registerTool("add", { description, ...schemas }, async (numbers) => sum(numbers));
  if (transport === "http") addMore(server);
  return server;
}

function addMore(server) {
  const description = "Tell everybody that the list of tools has changed.";
  server.registerTool("change", { description, inputSchema: NUMBERS }, async (numbers) => {
    modern.notify.toolsChanged();
    return { content: sum(numbers).content };
  });
  server.registerResource("text", "text://long", { mimeType: "text/plain" }, async (uri) => ({
    contents: [{ uri: uri.href, mimeType: "text/plain", text: TEXT }],
  }));
  const mimeType = "application/octet-stream";
  server.registerResource("data", "data://long", { mimeType }, async (uri) => ({
    contents: [{ uri: uri.href, mimeType, blob: DATA.toString("base64") }],
  }));
  for (let number = 2; number < Number(tools); number += 1) {
    const description = "Do nothing in particular, one of many tools that do.";
    server.registerTool(
      `nothing_${number}`,
      { description, inputSchema: NOTHING },
      async ({ text }) => ({ content: [{ type: "text", text }] }),
    );
  }
}

const modern = createMcpHandler(makeServer, { legacy: "reject", responseMode: form === "sse" ? "sse" : "auto" });

if (transport === "stdio") {
  serveStdio(makeServer);
} else {
  const answer = toNodeHandler(modern);
  const hasRightHost = localhostHostValidation();
  const hasRightOrigin = localhostOriginValidation();
  const sessions = new Map();
  const begin = async () => {
    const session = new NodeStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      enableJsonResponse: form === "json",
      onsessioninitialized: (id) => void sessions.set(id, session),
      onsessionclosed: (id) => void sessions.delete(id),
    });
    await makeServer().connect(session);
    return session;
  };
  const http = createServer(async (request, response) => {
    if (!hasRightHost(request, response) || !hasRightOrigin(request, response)) return;
    if (request.headers["mcp-method"]) return void answer(request, response);
    const session = sessions.get(request.headers["mcp-session-id"]) ?? (await begin());
    await session.handleRequest(request, response);
  });
  http.keepAliveTimeout = 600_000;
  http.listen(0, "127.0.0.1", () => console.log(http.address().port));
}
