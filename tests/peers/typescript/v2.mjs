// The client of the SDK's second release line: it speaks both lifecycles.

import {
  Client,
  SSEClientTransport,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const reaching = {
  stdio: ([command, ...args]) => new StdioClientTransport({ command, args }),
  http: ([url]) => new StreamableHTTPClientTransport(new URL(url)),
  sse: ([url]) => new SSEClientTransport(new URL(url)),
};

export async function connect({ transport, target, mode, handlers }) {
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
  await client.connect(reaching[transport](target));
  return { client, revision: () => client.getNegotiatedProtocolVersion() };
}
