/** What a dialogue wants next: to say something, or a part of what the server says. */
export type Wish =
  | { readonly kind: 'say'; readonly data: Buffer }
  /** A line, without its end. */
  | { readonly kind: 'line' }
  | { readonly kind: 'bytes'; readonly count: number }
  /** Everything up to the first of those, which is part of it. */
  | { readonly kind: 'mark'; readonly marks: readonly string[] };

/**
 * The talk in plain text that leads to TLS, as a generator: it is given what it wished for, and TLS begins when it returns.
 *
 * @throws Refusal, Malformed
 */
export type Dialogue = Generator<Wish, void, Buffer>;

/** The server does not go on in TLS. */
export class Refusal extends Error {}

/** What the server says is not its protocol. */
export class Malformed extends Error {}

export function* say(text: string): Dialogue {
  yield { kind: 'say', data: Buffer.from(text) };
}

export function* line(): Generator<Wish, string, Buffer> {
  return (yield { kind: 'line' }).toString('latin1');
}

export function* bytes(count: number): Generator<Wish, Buffer, Buffer> {
  return yield { kind: 'bytes', count };
}

const maxShownLength = 200;

/** Something a server said, as messages show it. */
export function quoted(text: string): string {
  return JSON.stringify(text.length > maxShownLength ? `${text.slice(0, maxShownLength)}…` : text);
}
