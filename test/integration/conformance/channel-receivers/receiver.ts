import type { ReceivedRequest } from '../../../helpers/service/alert-receivers.ts';

/** What a receiver of one type of channel takes, as its documentation says. */
export interface DocumentedReceiver {
  /** A config that leads to a server of the test, where the settings do not. */
  config(url: string): Record<string, unknown>;
  /** How a message that it takes is answered. */
  readonly accepted: { readonly status: number; readonly body: string };
  /** @throws where the documentation does not allow the request. */
  check(request: ReceivedRequest): void;
  /** Every text of a request that people read, as they see it: with nothing escaped any more. */
  shown(request: ReceivedRequest): string;
  /** What tells the incidents of a receiver apart, where it keeps them. */
  incident?(request: ReceivedRequest): string;
  /** Answers that say of an error though their status does not, and whether it may pass. */
  readonly errors?: readonly {
    readonly status: number;
    readonly body: string;
    readonly reason: string;
    readonly isRetryable: boolean;
  }[];
}

/** A request's body as JSON, sent as such. */
export function jsonBody({ method, headers, body }: ReceivedRequest): unknown {
  if (method !== 'POST') throw new Error(`${method} instead of POST`);
  if (!/^application\/json(;|$)/.test(String(headers['content-type']))) {
    throw new Error(`content-type is ${headers['content-type']}`);
  }
  return JSON.parse(body);
}

/** Every text anywhere in a value. */
export function textsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsOf) : [];
}

export function unescapeHtml(text: string): string {
  const entities: Record<string, string> = { lt: '<', gt: '>', quot: '"', apos: "'", amp: '&' };
  return text.replaceAll(/&(lt|gt|quot|apos|amp);/g, (_whole, name: string) => entities[name] ?? '');
}

/** Throws where a text holds markup of HTML beyond some tags. */
export function requireOnlyTags(text: string, tags: RegExp): void {
  const rest = text.replaceAll(tags, '');
  if (/[<>]/.test(rest)) throw new Error(`markup in ${rest}`);
  if (/&(?!(lt|gt|quot|amp);)/.test(rest)) throw new Error(`an entity that is not known in ${rest}`);
}
