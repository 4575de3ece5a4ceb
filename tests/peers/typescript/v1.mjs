// The client of the SDK's first release line: it knows nothing but handshakes.

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import * as types from "@modelcontextprotocol/sdk/types.js";

export async function connect({ command, args, handlers }) {
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
  const transport = new StdioClientTransport({ command, args });
  // Nothing but a transport is told which revision was agreed on.
  transport.setProtocolVersion = (revision) => (transport.protocolVersion = revision);
  await client.connect(transport);
  return { client, transport };
}
