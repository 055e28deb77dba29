import { createHmac, randomBytes } from 'node:crypto';
import type { Clock } from '@picket/lib/clock.ts';
import { errorCodeOf, toError } from '@picket/lib/errors.ts';
import type { Claims, SingleSignOn } from '@picket/service/members/single-sign-on.ts';
import type * as oidc from 'openid-client';

/** Loaded for the first login: most services have no provider. */
const library = () => import('openid-client');

/** A login that the provider's response does not allow; the message is for the person. */
export class LoginRefused extends Error {}

const knownForMs = 60 * 60_000;
const timeoutSeconds = 10;

/**
 * The provider of single sign-on: the authorization code flow of OpenID Connect with PKCE, state and nonce. All three
 * are keyed hashes of one random secret that only the browser keeps, in a cookie, so a response is valid only in the
 * requesting browser, and the service keeps no state. The provider is discovered at the first login, then hourly.
 */
export class Provider {
  readonly settings: SingleSignOn;
  readonly #redirectUri: string;
  readonly #clock: Clock;
  #known: { readonly configuration: oidc.Configuration; readonly atMs: number } | undefined;

  constructor(settings: SingleSignOn, publicUrl: string, clock: Clock) {
    this.settings = settings;
    this.#redirectUri = `${publicUrl.replace(/\/+$/, '')}/login/sso/callback`;
    this.#clock = clock;
  }

  /**
   * Returns the login address for the browser, and the secret that it must return.
   *
   * @throws LoginRefused when the provider cannot be reached.
   */
  async begin(): Promise<{ url: string; secret: string }> {
    const configuration = await this.#configuration();
    const { buildAuthorizationUrl, calculatePKCECodeChallenge } = await library();
    const secret = randomBytes(32).toString('base64url');
    const url = buildAuthorizationUrl(configuration, {
      redirect_uri: this.#redirectUri,
      scope: this.settings.scopes,
      state: part(secret, 'state'),
      nonce: part(secret, 'nonce'),
      code_challenge: await calculatePKCECodeChallenge(part(secret, 'verifier')),
      code_challenge_method: 'S256',
    });
    return { url: url.href, secret };
  }

  /**
   * Returns the provider's claims about the returning person.
   *
   * @param query of the callback address.
   * @throws LoginRefused
   */
  async finish(query: string, secret: string): Promise<Claims> {
    const configuration = await this.#configuration();
    const { name, emailClaim, groupsClaim, roles } = this.settings;
    const current = new URL(this.#redirectUri);
    current.search = query;
    const refused = current.searchParams.get('error');
    if (refused !== null && current.searchParams.get('state') === part(secret, 'state')) {
      const why = current.searchParams.get('error_description') ?? refused;
      throw new LoginRefused(`${name} rejected the login: ${why.slice(0, 300)}`);
    }
    const { authorizationCodeGrant, fetchUserInfo } = await library();
    try {
      const tokens = await authorizationCodeGrant(configuration, current, {
        expectedState: part(secret, 'state'),
        expectedNonce: part(secret, 'nonce'),
        pkceCodeVerifier: part(secret, 'verifier'),
        idTokenExpected: true,
      });
      const claims = tokens.claims();
      if (!claims) throw new LoginRefused(`${name} sent no identity.`);
      // Many providers return groups only from the userinfo endpoint.
      const isWhole =
        claims[emailClaim] !== undefined && (roles.length === 0 || claims[groupsClaim] !== undefined);
      if (isWhole || !configuration.serverMetadata().userinfo_endpoint) return claims;
      return { ...(await fetchUserInfo(configuration, tokens.access_token, claims.sub)), ...claims };
    } catch (thrown) {
      if (thrown instanceof LoginRefused) throw thrown;
      const error = toError(thrown);
      throw new LoginRefused(`The response of ${name} is not valid: ${reasonOf(error)}. Log in again.`, {
        cause: error,
      });
    }
  }

  async #configuration(): Promise<oidc.Configuration> {
    const now = this.#clock.monotonicMs();
    if (this.#known && now - this.#known.atMs < knownForMs) return this.#known.configuration;
    const { issuer, clientId, clientSecret, name } = this.settings;
    const client = await library();
    const server = new URL(issuer);
    const isOnThisMachine = ['localhost', '127.0.0.1', '[::1]'].includes(server.hostname);
    try {
      const configuration = await client.discovery(
        server,
        clientId,
        undefined,
        clientSecret === undefined ? client.None() : client.ClientSecretBasic(clientSecret),
        {
          timeout: timeoutSeconds,
          execute: [
            client.enableNonRepudiationChecks,
            ...(isOnThisMachine ? [client.allowInsecureRequests] : []),
          ],
        },
      );
      this.#known = { configuration, atMs: now };
      return configuration;
    } catch (thrown) {
      const error = toError(thrown);
      throw new LoginRefused(`${name} cannot be reached: ${reasonOf(error)}. Try again later.`, {
        cause: error,
      });
    }
  }
}

function part(secret: string, name: 'state' | 'nonce' | 'verifier'): string {
  return createHmac('sha256', secret).update(name).digest('base64url');
}

/** Returns the message of an error, with the details from the provider or the network. */
function reasonOf(error: Error): string {
  const { cause } = error;
  const said = 'error_description' in error && typeof error.error_description === 'string';
  const details = [
    error.message,
    said ? String(error.error_description) : '',
    cause instanceof Error ? cause.message : '',
    errorCodeOf(cause) ?? '',
  ];
  return [...new Set(details.filter((text) => text !== ''))].join(', ').slice(0, 300);
}
