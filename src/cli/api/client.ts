import type { z } from 'zod';
import { toError } from '../../lib/errors.ts';
import type { Route } from '../../protocol/http/route.ts';
import { ApiError } from './api-error.ts';
import type { ApiSettings } from './settings.ts';

const timeoutMs = 30_000;
const perPage = 100;
const mostPages = 50;

type Answer<R extends Route> = R extends { response: infer Response extends z.ZodType }
  ? z.output<Response>
  : undefined;

interface Input {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly body?: unknown;
}

/** Calls operations of the API of a service. */
export class ApiClient {
  readonly #settings: ApiSettings;

  constructor(settings: ApiSettings) {
    this.#settings = settings;
  }

  /** @throws ApiError in words: what the service refused and why, or that it does not answer. */
  async call<R extends Route>(route: R, { params = {}, query = {}, body }: Input = {}): Promise<Answer<R>> {
    const { PICKET_URL, PICKET_API_KEY } = this.#settings;
    const path = route.path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
      encodeURIComponent(params[name] ?? ''),
    );
    const url = new URL(`${PICKET_URL.replace(/\/+$/, '')}${path}`);
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined) url.searchParams.set(name, String(value));
    }
    let response: Response;
    let text: string;
    try {
      response = await fetch(url, {
        method: route.method,
        headers: {
          authorization: `Bearer ${PICKET_API_KEY}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        redirect: 'error',
        signal: AbortSignal.timeout(timeoutMs),
      });
      text = await response.text();
    } catch (thrown) {
      const { cause, message } = toError(thrown);
      const reason = cause === undefined ? message : toError(cause).message;
      throw new ApiError(
        `The service at ${PICKET_URL} does not answer: ${reason}. PICKET_URL says where it is.`,
      );
    }
    if (!response.ok) throw refusal(response.status, text, PICKET_URL);
    if (!('response' in route) || route.response === undefined) return undefined as Answer<R>;
    const parsed = route.response.safeParse(text === '' ? undefined : parseJson(text));
    if (!parsed.success) {
      throw new ApiError(
        `The answer of ${PICKET_URL} is none of this version of Picket: ${parsed.error.issues[0]?.message ?? ''}.`,
      );
    }
    return parsed.data as Answer<R>;
  }

  /** All pages of a list. */
  async all<R extends Route & { readonly response: z.ZodArray }>(
    route: R,
    query: Readonly<Record<string, string | undefined>> = {},
  ): Promise<Answer<R> & unknown[]> {
    const rows: unknown[] = [];
    for (let page = 1; page <= mostPages; page += 1) {
      const some = (await this.call(route, { query: { ...query, limit: perPage, page } })) as unknown[];
      rows.push(...some);
      if (some.length < perPage) break;
    }
    return rows as Answer<R> & unknown[];
  }
}

function refusal(statusCode: number, text: string, url: string): ApiError {
  const said = parseJson(text) as { readonly message?: unknown } | undefined;
  const message = typeof said?.message === 'string' ? said.message : `${url} answers ${statusCode}.`;
  const hint = statusCode === 401 ? ' PICKET_API_KEY holds the key.' : '';
  return new ApiError(`${message}${hint}`, statusCode === 400);
}

/** Undefined where it is none: what stands before a service answers with pages of its own. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
