import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { errorCodeOf, toError } from '@picket/lib/errors.ts';
import type { cursorPage } from '@picket/protocol/http/cursor.ts';
import type { Route } from '@picket/protocol/http/route.ts';
import type { z } from 'zod';
import { ApiError } from './api-error.ts';
import type { ApiSettings } from './settings.ts';

const timeoutMs = 30_000;
const perPage = 100;
const mostTries = 5;
const longestPauseSeconds = 60;
/** How many times a request is repeated if its connection ends before the response arrives. */
const cutTries = 2;

type Answer<R extends Route> = R extends { response: infer Response extends z.ZodType }
  ? z.output<Response>
  : undefined;

type CursorRoute = Route & { readonly response: ReturnType<typeof cursorPage<z.ZodType>> };

interface Input {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  /** Bytes are sent unchanged, anything else as JSON. */
  readonly body?: unknown;
}

/** Calls operations of a service's API. */
export class ApiClient {
  readonly #settings: ApiSettings;
  readonly #headers: Readonly<Record<string, string>>;

  /** @param headers sent with every request. */
  constructor(settings: ApiSettings, headers: Readonly<Record<string, string>> = {}) {
    this.#settings = settings;
    this.#headers = headers;
  }

  /** Address of the service. */
  get url(): string {
    return this.#settings.PICKET_URL;
  }

  /** @throws ApiError in words: why the service refused, or that it does not respond. */
  async call<R extends Route>(route: R, input: Input = {}): Promise<Answer<R>> {
    const { PICKET_URL } = this.#settings;
    const { text } = await this.#ask(route, input, (response) => response.text());
    if (!('response' in route) || route.response === undefined) return undefined as Answer<R>;
    const parsed = route.response.safeParse(text === '' ? undefined : parseJson(text));
    if (!parsed.success) {
      throw new ApiError(
        `The response of ${PICKET_URL} does not match this version of Picket: ${parsed.error.issues[0]?.message ?? ''}.`,
      );
    }
    return parsed.data as Answer<R>;
  }

  /** Returns the bytes of an operation's response. @throws ApiError */
  async bytes(route: Route, input: Input = {}): Promise<Uint8Array> {
    const { text } = await this.#ask(
      route,
      input,
      async (response) => new Uint8Array(await response.arrayBuffer()),
    );
    return text;
  }

  /** Sends a request, and repeats it after the requested pause if the service limits the rate. */
  async #ask<Content>(
    route: Route,
    input: Input,
    read: (response: Response) => Promise<Content>,
  ): Promise<{ readonly text: Content }> {
    const { PICKET_URL } = this.#settings;
    // A creating request is repeated with the same idempotency key: if only its response was lost, it is not executed
    // twice.
    const key = route.method === 'POST' && !route.isBodyRaw ? randomUUID() : undefined;
    for (let tries = 1; ; tries += 1) {
      try {
        const response = await this.#send(route, input, key);
        if (response.ok) return { text: await read(response) };
        const pauseSeconds = Number(response.headers.get('retry-after') ?? Number.NaN);
        const said = await response.text();
        const isPaused = [409, 429].includes(response.status) && pauseSeconds <= longestPauseSeconds;
        if (!isPaused || tries >= mostTries) throw refusal(response.status, said, PICKET_URL);
        await setTimeout(pauseSeconds * 1000);
      } catch (thrown) {
        if (thrown instanceof ApiError) throw thrown;
        if (key !== undefined && tries <= cutTries && isCut(thrown)) continue;
        const { cause, message } = toError(thrown);
        const reason = cause === undefined ? message : toError(cause).message;
        throw new ApiError(
          `The service at ${PICKET_URL} does not respond: ${reason}. PICKET_URL sets its address.`,
        );
      }
    }
  }

  #send(route: Route, { params = {}, query = {}, body }: Input, key?: string): Promise<Response> {
    const { PICKET_URL, PICKET_API_KEY } = this.#settings;
    const path = route.path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
      encodeURIComponent(params[name] ?? ''),
    );
    const url = new URL(`${PICKET_URL.replace(/\/+$/, '')}${path}`);
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined) url.searchParams.set(name, String(value));
    }
    const isRaw = body instanceof Uint8Array;
    const contentType = isRaw ? 'application/octet-stream' : 'application/json';
    return fetch(url, {
      method: route.method,
      headers: {
        ...this.#headers,
        authorization: `Bearer ${PICKET_API_KEY}`,
        ...(body === undefined ? {} : { 'content-type': contentType }),
        ...(key === undefined ? {} : { 'idempotency-key': key }),
      },
      ...(body === undefined ? {} : { body: isRaw ? new Uint8Array(body) : JSON.stringify(body) }),
      redirect: 'error',
      signal: AbortSignal.timeout(timeoutMs),
    });
  }

  /** Returns all entries of a list with cursor paging. */
  async allEntries<R extends CursorRoute>(route: R): Promise<Answer<R>['entries']> {
    const entries: unknown[] = [];
    let nextId: string | undefined;
    do {
      const page: Answer<CursorRoute> = await this.call<CursorRoute>(route, {
        query: { limit: perPage, nextId },
      });
      entries.push(...page.entries);
      nextId = page.nextId ?? undefined;
    } while (nextId !== undefined);
    return entries as Answer<R>['entries'];
  }

  /** Returns all entries of a list with page numbers. */
  async all<R extends Route & { readonly response: z.ZodArray }>(
    route: R,
    query: Readonly<Record<string, string | undefined>> = {},
  ): Promise<Answer<R> & unknown[]> {
    const rows: unknown[] = [];
    for (let page = 1; ; page += 1) {
      const some = (await this.call(route, { query: { ...query, limit: perPage, page } })) as unknown[];
      rows.push(...some);
      if (some.length < perPage) return rows as Answer<R> & unknown[];
    }
  }
}

/** Whether an established connection broke; a failure to connect is not retried. */
function isCut(thrown: unknown): boolean {
  const { cause } = toError(thrown);
  return ['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'].includes(errorCodeOf(cause) ?? '');
}

function refusal(statusCode: number, text: string, url: string): ApiError {
  const said = parseJson(text) as { readonly message?: unknown } | undefined;
  const message =
    typeof said?.message === 'string' ? said.message : `${url} responded with status ${statusCode}.`;
  const hint = statusCode === 401 ? ' PICKET_API_KEY holds the key.' : '';
  return new ApiError(`${message}${hint}`, statusCode === 400);
}

/** Parses JSON; undefined if it is not JSON: a proxy in front of a service sends pages of its own. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
