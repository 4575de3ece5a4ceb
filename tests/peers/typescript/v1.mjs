// The client of the SDK's first release line: it knows nothing but handshakes.

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import * as types from "@modelcontextprotocol/sdk/types.js";

const reaching = {
  stdio: ([command, ...args]) => new StdioClientTransport({ command, args }),
  http: ([url]) => new StreamableHTTPClientTransport(new URL(url)),
  sse: ([url]) => new SSEClientTransport(new URL(url)),
};

export async function connect({ transport, target, handlers }) {
  const client = new Client(
    { name: "typescript", version: "1" },
    { capabilities: { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} } },
  );
  const answer = (schema, handle) =>
    client.setRequestHandler(schema, async (request) => handle(request.params));
  const hear = (schema, handle) =>
    client.setNotificationHandler(schema, async (notice) => void handle(notice.params));
  answer(types.ElicitRequestSchema, handlers.elicit);
  answer(types.CreateMessageRequestSchema, handlers.sample);
  answer(types.ListRootsRequestSchema, handlers.roots);
  hear(types.LoggingMessageNotificationSchema, handlers.log);
  hear(types.ResourceUpdatedNotificationSchema, handlers.updated);
  hear(types.ToolListChangedNotificationSchema, () => handlers.changed("tools"));
  hear(types.PromptListChangedNotificationSchema, () => handlers.changed("prompts"));
  hear(types.ResourceListChangedNotificationSchema, () => handlers.changed("resources"));
  const chosen = reaching[transport](target);
  // Nothing but a transport is told which revision was agreed on.
  const tell = chosen.setProtocolVersion?.bind(chosen);
  let agreed;
  chosen.setProtocolVersion = (revision) => {
    agreed = revision;
    tell?.(revision);
  };
  await client.connect(chosen);
  return { client, revision: () => agreed };
}
