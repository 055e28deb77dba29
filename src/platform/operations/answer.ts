import type { Reply } from '../feature/exchange.ts';

/** What an operation answered; the body is what its handler returned, or sent in place of that. */
export interface Answer<Body = unknown> {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Body;
}

/** What an operation says of its answer, kept for its caller. */
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

/** How many entries the whole list has that an answer is a page of. */
export function totalOf({ headers }: Answer): number {
  return Number(headers['content-range']?.split('/')[1] ?? 0);
}
