import type { ReceivedRequest } from '../../../helpers/service/alert-receivers.ts';

/** A receiver of one channel type, as its documentation describes it. */
export interface DocumentedReceiver {
  /** A config that points to a server of the test, if the settings do not. */
  config(url: string): Record<string, unknown>;
  /** The response to an accepted message. */
  readonly accepted: { readonly status: number; readonly body: string };
  /** @throws if the documentation does not allow the request. */
  check(request: ReceivedRequest): void;
  /** Every visible text of a request, with escapes removed. */
  shown(request: ReceivedRequest): string;
  /** The incident key of a request, for receivers that keep incidents. */
  incident?(request: ReceivedRequest): string;
  /** Responses that report an error despite their status, and whether the error may be temporary. */
  readonly errors?: readonly {
    readonly status: number;
    readonly body: string;
    readonly reason: string;
    readonly isRetryable: boolean;
  }[];
}

/** Parses a request's body as JSON, and checks its method and content type. */
export function jsonBody({ method, headers, body }: ReceivedRequest): unknown {
  if (method !== 'POST') throw new Error(`${method} instead of POST`);
  if (!/^application\/json(;|$)/.test(String(headers['content-type']))) {
    throw new Error(`content-type is ${headers['content-type']}`);
  }
  return JSON.parse(body);
}

/** All texts anywhere in a value. */
export function textsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsOf) : [];
}

export function unescapeHtml(text: string): string {
  const entities: Record<string, string> = { lt: '<', gt: '>', quot: '"', apos: "'", amp: '&' };
  return text.replaceAll(/&(lt|gt|quot|apos|amp);/g, (_whole, name: string) => entities[name] ?? '');
}

/** Throws if a text contains HTML markup other than the given tags. */
export function requireOnlyTags(text: string, tags: RegExp): void {
  const rest = text.replaceAll(tags, '');
  if (/[<>]/.test(rest)) throw new Error(`markup in ${rest}`);
  if (/&(?!(lt|gt|quot|amp);)/.test(rest)) throw new Error(`an entity that is not known in ${rest}`);
}
