// Authorization servers of oidc-provider on loopback, each at a port of its own.
//
//     node provider.mjs OPTIONS
//
// OPTIONS is JSON: for each name the settings of a server, see `configuration`. It writes a line
// `listening at {name: issuer}` to stderr, and ends with its standard input.

import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";

import Provider from "oidc-provider";

const USER = "demo";

const keys = ["RSA", "EC"].map((kind) => {
  const { privateKey } =
    kind === "RSA"
      ? generateKeyPairSync("rsa", { modulusLength: 2048 })
      : generateKeyPairSync("ec", { namedCurve: "P-256" });
  const alg = kind === "RSA" ? "RS256" : "ES256";
  return { ...privateKey.export({ format: "jwk" }), alg, use: "sig", kid: kind };
});

function configuration({ format, alg, scopes, resourceScopes, nonces, clients, lifetimeS }) {
  return {
    clients,
    jwks: { keys },
    scopes,
    cookies: { keys: ["only for tests"] },
    pkce: { required: () => true },
    ttl: { Session: 600, Grant: 600, Interaction: 600, RefreshToken: 600, ClientCredentials: 600 },
    findAccount: (ctx, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
    interactions: { url: (ctx, interaction) => `/interaction/${interaction.uid}` },
    // Every refresh token is used once.
    rotateRefreshToken: true,
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      introspection: { enabled: true, allowedPolicy: () => true },
      revocation: { enabled: true },
      registration: { enabled: true },
      dPoP: {
        enabled: true,
        nonceSecret: Buffer.alloc(32, 1),
        requireNonce: () => nonces,
      },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (ctx, resource) => ({
          scope: resourceScopes.join(" "),
          audience: resource,
          accessTokenTTL: lifetimeS,
          accessTokenFormat: format,
          ...(format === "jwt" && { jwt: { sign: { alg } } }),
        }),
      },
    },
  };
}

// The page of a user who logs in and agrees to everything.
async function agree(provider, request, response) {
  const { params, session } = await provider.interactionDetails(request, response);
  const accountId = session?.accountId ?? USER;
  const grant = new provider.Grant({ accountId, clientId: params.client_id });
  grant.addOIDCScope(params.scope);
  grant.addResourceScope(params.resource, params.scope);
  const result = { login: { accountId }, consent: { grantId: await grant.save() } };
  await provider.interactionFinished(request, response, result, {
    mergeWithLastSubmission: false,
  });
}

async function serve(options) {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const provider = new Provider(issuer, configuration(options));
  provider.on("server_error", (ctx, error) => console.error(error));
  const callback = provider.callback();
  server.on("request", (request, response) => {
    if (!request.url.startsWith("/interaction/")) {
      callback(request, response);
      return;
    }
    agree(provider, request, response).catch((error) => {
      console.error(error);
      response.statusCode = 500;
      response.end();
    });
  });
  return issuer;
}

const issuers = {};
for (const [name, options] of Object.entries(JSON.parse(process.argv[2]))) {
  issuers[name] = await serve(options);
}
console.error(`listening at ${JSON.stringify(issuers)}`);
process.stdin.resume();
process.stdin.on("end", () => process.exit(0));
