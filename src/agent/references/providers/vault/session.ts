import type { Clock } from '@picket/lib/clock.ts';
import { z } from 'zod';
import { readAnswer, refusal, type SecretAnswer, type SecretHttp } from '../../http.ts';
import { ReferenceProblem } from '../../problem.ts';
import { credentialOf } from '../../provider-settings.ts';
import { readSecretFile } from '../../read-file.ts';
import type { VaultSettings } from './settings.ts';

export const who = 'Vault';

/** Errors of Vault; a path without a secret has an empty list. */
export const vaultError = z
  .object({ errors: z.array(z.string()).default([]), warnings: z.array(z.string()).nullish() })
  .transform(({ errors, warnings }) => [...errors, ...(warnings ?? [])].join('; '));

const Login = z.object({
  auth: z.object({
    client_token: z.string().min(1),
    lease_duration: z.number().min(0),
    renewable: z.boolean(),
  }),
});
const Lookup = z.object({
  data: z.object({ ttl: z.number().min(0), renewable: z.boolean().default(false) }),
});

interface Token {
  readonly text: string;
  /** On the monotonic clock; Infinity for a token without an end. */
  readonly endsAtMs: number;
  readonly lifeMs: number;
  readonly isRenewable: boolean;
}

/** A token is renewed when less than this part of its life is left. */
const renewalPart = 0.5;
/** A token with a short rest of its life is not renewed more often. */
const minRenewalMs = 10_000;

/**
 * The login to a Vault: obtains a token when it is first needed, renews it before it ends, and logs in again when it
 * cannot be renewed.
 */
export class VaultSession {
  readonly #settings: VaultSettings;
  readonly #http: SecretHttp;
  readonly #clock: Clock;
  readonly #onCredential: (secret: string) => void;
  #token: Token | undefined;
  #pending: Promise<Token> | undefined;

  constructor(
    settings: VaultSettings,
    means: {
      readonly http: SecretHttp;
      readonly clock: Clock;
      readonly onCredential: (secret: string) => void;
    },
  ) {
    this.#settings = settings;
    this.#http = means.http;
    this.#clock = means.clock;
    this.#onCredential = means.onCredential;
  }

  /** Time until the token has to be renewed; absent if it has no end. */
  get renewalWithinMs(): number | undefined {
    if (!this.#token || this.#token.endsAtMs === Infinity) return undefined;
    const { endsAtMs, lifeMs } = this.#token;
    return Math.max(minRenewalMs, endsAtMs - this.#clock.monotonicMs() - lifeMs * renewalPart);
  }

  /**
   * Reads a path below `/v1/`. Logs in anew if the token was revoked; a path that its policies deny stays denied.
   *
   * @throws ReferenceProblem
   */
  async read(path: string, signal: AbortSignal): Promise<SecretAnswer> {
    const token = await this.#current(signal);
    const answer = await this.#request({ path, token: token.text }, signal);
    if (answer.status !== 403) return answer;
    const looked = await this.#request({ path: 'auth/token/lookup-self', token: token.text }, signal);
    if (looked.status !== 403) return answer;
    if (this.#token === token) this.#token = undefined;
    return await this.#request({ path, token: (await this.#current(signal)).text }, signal);
  }

  async #current(signal: AbortSignal): Promise<Token> {
    this.#pending ??= this.#valid(signal).finally(() => {
      this.#pending = undefined;
    });
    return await this.#pending;
  }

  async #valid(signal: AbortSignal): Promise<Token> {
    const token = this.#token;
    const leftMs = token ? token.endsAtMs - this.#clock.monotonicMs() : 0;
    if (token && leftMs > token.lifeMs * renewalPart) return token;
    const renewed = token?.isRenewable && leftMs > 0 ? await this.#renewed(token, signal) : undefined;
    this.#token = renewed ?? (await this.#login(signal));
    return this.#token;
  }

  /** Undefined if Vault does not renew the token, such as at the end of its longest life. */
  async #renewed(token: Token, signal: AbortSignal): Promise<Token | undefined> {
    const answer = await this.#request(
      { path: 'auth/token/renew-self', token: token.text, body: {} },
      signal,
    );
    // It is still valid, and Vault may respond again soon.
    if (answer.status >= 500) return token;
    if (answer.status !== 200) return undefined;
    const renewed = this.#tokenOf(answer);
    // Vault shortens the last renewals of a token to its longest life.
    return renewed.lifeMs >= token.lifeMs * renewalPart ? renewed : undefined;
  }

  async #login(signal: AbortSignal): Promise<Token> {
    const { roleId, secretId, secretIdPath, kubernetesRole, kubernetesTokenPath, mount } = this.#settings;
    if (roleId !== undefined) {
      const secret = await credentialOf(secretId, secretIdPath);
      if (secret !== undefined) this.#onCredential(secret);
      return await this.#loginAt(
        mount ?? 'approle',
        { role_id: roleId, ...(secret === undefined ? {} : { secret_id: secret }) },
        signal,
      );
    }
    if (kubernetesRole !== undefined) {
      const jwt = await readSecretFile(kubernetesTokenPath);
      this.#onCredential(jwt);
      return await this.#loginAt(mount ?? 'kubernetes', { role: kubernetesRole, jwt }, signal);
    }
    return await this.#givenToken(signal);
  }

  async #loginAt(mount: string, body: object, signal: AbortSignal): Promise<Token> {
    const answer = await this.#request({ path: `auth/${mount}/login`, body }, signal);
    if (answer.status !== 200) throw refusal(`${who}, at the login with ${mount},`, answer, vaultError);
    return this.#tokenOf(answer);
  }

  /** The token of the settings. Its policies may not allow looking it up: it is then used without renewal. */
  async #givenToken(signal: AbortSignal): Promise<Token> {
    const token = await credentialOf(this.#settings.token, this.#settings.tokenPath);
    if (token === undefined || token === '')
      throw new ReferenceProblem('DENIED', 'there is no token of Vault');
    this.#onCredential(token);
    const answer = await this.#request({ path: 'auth/token/lookup-self', token }, signal);
    if (answer.status >= 500) throw refusal(who, answer, vaultError);
    if (answer.status !== 200) return { text: token, ...this.#lifeOf(0, false) };
    const { ttl, renewable } = readAnswer(who, Lookup, answer).data;
    return { text: token, ...this.#lifeOf(renewable ? ttl : 0, renewable) };
  }

  #tokenOf(answer: SecretAnswer): Token {
    const { auth } = readAnswer(who, Login, answer);
    this.#onCredential(auth.client_token);
    return { text: auth.client_token, ...this.#lifeOf(auth.lease_duration, auth.renewable) };
  }

  /** @param seconds 0 for a token without an end. */
  #lifeOf(seconds: number, isRenewable: boolean): Omit<Token, 'text'> {
    const lifeMs = seconds === 0 ? Infinity : seconds * 1000;
    return {
      endsAtMs: this.#clock.monotonicMs() + lifeMs,
      lifeMs: seconds === 0 ? 0 : lifeMs,
      isRenewable,
    };
  }

  #request(
    request: { readonly path: string; readonly token?: string; readonly body?: object },
    signal: AbortSignal,
  ): Promise<SecretAnswer> {
    const { url, namespace } = this.#settings;
    return this.#http.request(
      {
        url: `${url}/v1/${request.path}`,
        method: request.body === undefined ? 'GET' : 'POST',
        headers: {
          // Vault refuses requests without it where it is configured to, against forged ones.
          'x-vault-request': 'true',
          ...(request.token === undefined ? {} : { 'x-vault-token': request.token }),
          ...(namespace === undefined ? {} : { 'x-vault-namespace': namespace }),
          ...(request.body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(request.body === undefined ? {} : { body: JSON.stringify(request.body) }),
      },
      signal,
    );
  }
}
