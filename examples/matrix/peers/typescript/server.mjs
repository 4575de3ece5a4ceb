// Server made with the TypeScript SDK: `node server.mjs stdio|http`.

import { createServer } from "node:http";
import {
  acceptedContent,
  createMcpHandler,
  inputRequired,
  McpServer,
  ResourceTemplate,
} from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import {
  localhostHostValidation,
  localhostOriginValidation,
  toNodeHandler,
} from "@modelcontextprotocol/node";
import * as z from "zod/v4";

const text = (said) => ({ content: [{ type: "text", text: said }] });

function makeServer() {
  const server = new McpServer({ name: "matrix-shelf", version: "1.0.0" });

  server.registerTool(
    "add",
    {
      description: "Add two numbers.",
      inputSchema: z.object({ a: z.number().int(), b: z.number().int() }),
    },
    async ({ a, b }) => text(String(a + b)),
  );

  server.registerTool(
    "scan",
    {
      description: "Scan shelves, and report the progress.",
      inputSchema: z.object({ shelves: z.number().int() }),
    },
    async ({ shelves }, ctx) => {
      const progressToken = ctx.mcpReq._meta?.progressToken;
      for (let shelf = 1; shelf <= shelves; shelf += 1) {
        if (progressToken !== undefined) {
          await ctx.mcpReq.notify({
            method: "notifications/progress",
            params: { progressToken, progress: shelf, total: shelves, message: `shelf ${shelf}` },
          });
        }
      }
      return text(`${shelves} shelves`);
    },
  );

  server.registerTool(
    "count",
    { description: "Count the titles.", outputSchema: z.object({ titles: z.number().int() }) },
    async () => ({ ...text('{"titles": 3}'), structuredContent: { titles: 3 } }),
  );

  server.registerTool(
    "lend",
    {
      description: "Lend a title, which is not there.",
      inputSchema: z.object({ title: z.string() }),
    },
    async ({ title }) => {
      throw new Error(`no such title: ${title}`);
    },
  );

  server.registerTool("choose", { description: "Ask the user for a title." }, async (ctx) => {
    const chosen = acceptedContent(ctx.mcpReq.inputResponses, "loan");
    if (chosen !== undefined) return text(`chose ${chosen.title}`);
    const requestedSchema = {
      type: "object",
      properties: { title: { type: "string" } },
      required: ["title"],
    };
    const loan = inputRequired.elicit({ message: "Which title?", requestedSchema });
    return inputRequired({ inputRequests: { loan } });
  });

  server.registerResource(
    "rules",
    "shelf://rules",
    { description: "Rules of the shelf.", mimeType: "text/plain" },
    async (uri) => ({ contents: [{ uri: uri.href, text: "Bring it back." }] }),
  );

  server.registerResource(
    "title",
    new ResourceTemplate("shelf://titles/{number}", { list: undefined }),
    { description: "One title." },
    async (uri, { number }) => ({ contents: [{ uri: uri.href, text: `title ${number}` }] }),
  );

  server.registerPrompt(
    "recommend",
    {
      description: "Recommend a title to a reader.",
      argsSchema: z.object({ reader: z.string() }),
    },
    ({ reader }) => ({
      messages: [
        { role: "user", content: { type: "text", text: `Recommend a title to ${reader}.` } },
      ],
    }),
  );

  return server;
}

if (process.argv[2] === "http") {
  const answer = toNodeHandler(createMcpHandler(makeServer));
  const hasRightHost = localhostHostValidation();
  const hasRightOrigin = localhostOriginValidation();
  const http = createServer((request, response) => {
    if (hasRightHost(request, response) && hasRightOrigin(request, response)) {
      void answer(request, response);
    }
  });
  http.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${http.address().port}/mcp`));
} else {
  serveStdio(makeServer);
}
