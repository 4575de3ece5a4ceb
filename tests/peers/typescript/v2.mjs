// The client of the SDK's second release line: it speaks both lifecycles.

import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

export async function connect({ command, args, mode, handlers }) {
  const client = new Client(
    { name: "typescript", version: "2" },
    {
      capabilities: { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} },
      versionNegotiation: { mode },
    },
  );
  const answer = (method, handle) =>
    client.setRequestHandler(method, async (request) => handle(request.params));
  const hear = (method, handle) =>
    client.setNotificationHandler(method, async (notice) => void handle(notice.params));
  answer("elicitation/create", handlers.elicit);
  answer("sampling/createMessage", handlers.sample);
  answer("roots/list", handlers.roots);
  hear("notifications/message", handlers.log);
  hear("notifications/resources/updated", handlers.updated);
  hear("notifications/tools/list_changed", () => handlers.changed("tools"));
  hear("notifications/prompts/list_changed", () => handlers.changed("prompts"));
  hear("notifications/resources/list_changed", () => handlers.changed("resources"));
  const transport = new StdioClientTransport({ command, args });
  await client.connect(transport);
  return { client, transport };
}
