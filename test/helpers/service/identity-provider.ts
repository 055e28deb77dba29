import { generateKeyPairSync, sign } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import Provider from 'oidc-provider';
import type { SingleSignOn } from '../../../src/service/members/single-sign-on.ts';

type Claims = Record<string, unknown>;

const clientId = 'picket';
const clientSecret = 'client-secret-of-the-tests';
const keyId = 'key-of-the-tests';

/** A real OpenID Connect provider on this machine, in which every visitor is logged in as `account`. */
export class IdentityProvider {
  readonly issuer: string;
  readonly #server: Server;
  readonly #privateKey = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
  /** The account that logs in, and its claims. */
  account = 'bob';
  claims: Claims = { email: 'bob@example.com', email_verified: true, name: 'Bob' };
  /** Changes identities before they are signed, like a broken provider or an attacker. */
  alter: (claims: Claims) => Claims = (claims) => claims;
  /** Signs with a key other than the published one. */
  isForged = false;

  private constructor(server: Server) {
    this.#server = server;
    this.issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  static async open(redirectUri: string): Promise<IdentityProvider> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const opened = new IdentityProvider(server);
    opened.#serve(redirectUri);
    return opened;
  }

  get settings(): SingleSignOn {
    return {
      issuer: this.issuer,
      clientId,
      clientSecret,
      name: 'Example ID',
      scopes: 'openid email profile',
      emailClaim: 'email',
      groupsClaim: 'groups',
      roles: [],
      domains: [],
      needsVerifiedEmail: true,
      accountId: undefined,
    };
  }

  /** Follows a browser's steps at the provider, from the given address to the redirect back. Returns its address. */
  async visit(address: string, backTo: string): Promise<string> {
    const cookies = new Map<string, string>();
    let place = address;
    for (let hops = 0; hops < 10; hops += 1) {
      const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
      const answer = await fetch(place, { redirect: 'manual', headers: { cookie } });
      for (const line of answer.headers.getSetCookie()) {
        const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
        cookies.set(name, value);
      }
      const next = answer.headers.get('location');
      if (next === null) throw new Error(`the provider answered ${answer.status}: ${await answer.text()}`);
      place = new URL(next, place).href;
      if (place.startsWith(backTo)) return place;
    }
    throw new Error('the provider sends people in circles');
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #serve(redirectUri: string): void {
    const jwk = { ...this.#privateKey.export({ format: 'jwk' }), kid: keyId, use: 'sig', alg: 'RS256' };
    const provider = new Provider(this.issuer, {
      clients: [{ client_id: clientId, client_secret: clientSecret, redirect_uris: [redirectUri] }],
      jwks: { keys: [jwk] },
      cookies: { keys: ['cookie-key-of-the-tests'] },
      claims: { email: ['email', 'email_verified'], profile: ['name', 'groups'] },
      conformIdTokenClaims: false,
      features: { devInteractions: { enabled: false } },
      interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
      findAccount: async (_context, accountId) => ({
        accountId,
        claims: async () => ({ sub: accountId, ...this.claims }),
      }),
      loadExistingGrant: async ({ oidc }) => {
        const grant = new oidc.provider.Grant({
          clientId: oidc.client?.clientId ?? '',
          accountId: oidc.session?.accountId ?? '',
        });
        grant.addOIDCScope('openid email profile');
        await grant.save();
        return grant;
      },
    });
    provider.use(async (context, next) => {
      await next();
      if (context.path !== '/token' || !context.body?.id_token) return;
      context.body.id_token = this.#altered(context.body.id_token);
    });
    const answer = provider.callback();
    this.#server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      if (!request.url?.startsWith('/interaction/')) return void answer(request, response);
      void provider.interactionFinished(request, response, { login: { accountId: this.account } });
    });
  }

  #altered(token: string): string {
    const [, payload = ''] = token.split('.');
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as Claims;
    const encoded = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url');
    const text = `${encoded({ alg: 'RS256', kid: keyId })}.${encoded(this.alter(claims))}`;
    const key = this.isForged
      ? generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
      : this.#privateKey;
    return `${text}.${sign('sha256', Buffer.from(text), key).toString('base64url')}`;
  }
}
