import type { Reply } from '../feature/exchange.ts';

/** Response of an operation; the body is the handler's return value, or what it sent instead. */
export interface Answer<Body = unknown> {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Body;
}

/** Collects an operation's response details for its caller. */
export class CollectedReply implements Reply {
  #statusCode = 200;
  readonly #headers: Record<string, string> = {};
  #sent: { readonly content: unknown } | undefined;

  code(statusCode: number): this {
    this.#statusCode = statusCode;
    return this;
  }

  header(name: string, value: string | number): this {
    this.#headers[name] = String(value);
    return this;
  }

  headers(values: Readonly<Record<string, string | number>>): this {
    for (const [name, value] of Object.entries(values)) this.header(name, value);
    return this;
  }

  type(contentType: string): this {
    return this.header('content-type', contentType);
  }

  send(content?: unknown): void {
    this.#sent = { content };
  }

  answer(returned: unknown, statusOf: (set: number) => number): Answer {
    const headers = this.#headers;
    if (this.#sent) return { status: this.#statusCode, headers, body: this.#sent.content };
    return { status: statusOf(this.#statusCode), headers, body: returned };
  }
}

/** Returns the size of the whole list behind a page. */
export function totalOf({ headers }: Answer): number {
  return Number(headers['content-range']?.split('/')[1] ?? 0);
}
