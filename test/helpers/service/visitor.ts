import type { FastifyInstance } from 'fastify';
import type { KeyRole } from '../../../src/platform/ids/keys.ts';
import type { ServiceHarness } from './service.ts';

export interface Visit {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: string;
}

/** A minimal browser for pages without scripts: it keeps cookies and sends forms. */
export class Visitor {
  readonly cookies = new Map<string, string>();
  readonly #app: FastifyInstance;
  readonly #address: string | undefined;
  readonly #headers: Readonly<Record<string, string>>;

  constructor(
    app: FastifyInstance,
    options: { readonly address?: string; readonly headers?: Readonly<Record<string, string>> } = {},
  ) {
    this.#app = app;
    this.#address = options.address;
    this.#headers = options.headers ?? {};
  }

  get(path: string): Promise<Visit> {
    return this.#visit('GET', path, {});
  }

  post(
    path: string,
    fields: Readonly<Record<string, string>> | URLSearchParams,
    options: { readonly headers?: Readonly<Record<string, string>> } = {},
  ): Promise<Visit> {
    return this.#visit('POST', path, {
      payload: new URLSearchParams(fields).toString(),
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        'sec-fetch-site': 'same-origin',
        ...options.headers,
      },
    });
  }

  /** The CSRF token in a page of the session. */
  async csrf(path = '/'): Promise<string> {
    const { body } = await this.get(path);
    return /name="csrf" value="([^"]+)"/.exec(body)?.[1] ?? '';
  }

  cookieHeader(): string {
    return [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  }

  async #visit(
    method: 'GET' | 'POST',
    url: string,
    { payload, headers }: { readonly payload?: string; readonly headers?: Readonly<Record<string, string>> },
  ): Promise<Visit> {
    const given = Object.entries({ ...this.#headers, ...headers }).filter(([, value]) => value !== '');
    const answer = await this.#app.inject({
      method,
      url,
      headers: { accept: 'text/html', cookie: this.cookieHeader(), ...Object.fromEntries(given) },
      ...(payload === undefined ? {} : { payload }),
      ...(this.#address === undefined ? {} : { remoteAddress: this.#address }),
    });
    for (const { name, value } of answer.cookies) this.cookies.set(name, value);
    return {
      status: answer.statusCode,
      headers: answer.headers as Record<string, string | undefined>,
      body: answer.body,
    };
  }
}

let visitors = 0;

/** A visitor who is logged in, with the given key or with a new key of a role. */
export async function loggedIn(
  harness: ServiceHarness,
  role: KeyRole = 'READ_WRITE',
  key?: string,
): Promise<Visitor> {
  visitors += 1;
  // Login attempts are limited by address.
  const visitor = new Visitor(harness.app, { address: `203.0.113.${visitors}` });
  const { status } = await visitor.post('/login', { key: key ?? (await harness.addKey(role)) });
  if (status !== 303) throw new Error(`logging in was answered with ${status}`);
  return visitor;
}
