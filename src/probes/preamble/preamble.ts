/** The next step of a preamble: send data, or wait for data from the server. */
export type Want =
  | { readonly kind: 'say'; readonly data: Buffer }
  /** A line, without its terminator. */
  | { readonly kind: 'line' }
  | { readonly kind: 'bytes'; readonly count: number }
  /** Everything up to and including the first of these marks. */
  | { readonly kind: 'mark'; readonly marks: readonly string[] };

/**
 * A short exchange before the actual use of a connection, as a generator: it receives the data it wants, and is
 * complete when it returns.
 *
 * @throws Refusal, Malformed
 */
export type Preamble = Generator<Want, void, Buffer>;

/** The peer refuses. */
export class Refusal extends Error {}

/** The peer closes the connection instead of responding. */
export class HungUp extends Refusal {}

/** The peer does not speak the expected protocol. */
export class Malformed extends Error {}

export function* say(text: string): Preamble {
  yield { kind: 'say', data: Buffer.from(text) };
}

export function* line(): Generator<Want, string, Buffer> {
  return (yield { kind: 'line' }).toString('latin1');
}

export function* bytes(count: number): Generator<Want, Buffer, Buffer> {
  return yield { kind: 'bytes', count };
}

const maxShownLength = 200;

/** Quotes server data for messages, truncated. */
export function quoted(text: string): string {
  return JSON.stringify(text.length > maxShownLength ? `${text.slice(0, maxShownLength)}…` : text);
}
