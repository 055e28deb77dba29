/** What a preamble wants next: to say something, or a part of what the server says. */
export type Want =
  | { readonly kind: 'say'; readonly data: Buffer }
  /** A line, without its end. */
  | { readonly kind: 'line' }
  | { readonly kind: 'bytes'; readonly count: number }
  /** Everything up to the first of those, which is part of it. */
  | { readonly kind: 'mark'; readonly marks: readonly string[] };

/**
 * A talk of few words that comes before what a connection is for, as a generator: it is given what it wanted, and is over
 * when it returns.
 *
 * @throws Refusal, Malformed
 */
export type Preamble = Generator<Want, void, Buffer>;

/** The peer says no. */
export class Refusal extends Error {}

/** The peer closes the connection instead of an answer. */
export class HungUp extends Refusal {}

/** What the peer says is not its protocol. */
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

/** Something a server said, as messages show it. */
export function quoted(text: string): string {
  return JSON.stringify(text.length > maxShownLength ? `${text.slice(0, maxShownLength)}…` : text);
}
