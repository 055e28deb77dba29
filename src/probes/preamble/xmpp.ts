import { bytes, Malformed, type Preamble, quoted, Refusal, say, type Want } from './preamble.ts';

/** RFC 6120 section 5: opens a stream for the host, whose features must include STARTTLS. */
export function* xmpp(hostname: string): Preamble {
  const stream = `xmlns='jabber:client' xmlns:stream='http://etherx.jabber.org/streams' version='1.0'`;
  yield* say(`<?xml version='1.0'?><stream:stream to='${escaped(hostname)}' ${stream}>`);
  yield* beginningOfXml();
  const features = `<${yield* upTo('</stream:features>', '<stream:features/>', '</stream:error>', '</stream:stream>')}`;
  if (/<stream:error\b/.test(features)) throw new Refusal(`the server responded with ${quoted(features)}`);
  if (!/<starttls\b/.test(features)) throw new Refusal('the server does not offer STARTTLS');
  yield* say("<starttls xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>");
  const answer = yield* upTo('>');
  if (!/^\s*<proceed\b/.test(answer))
    throw new Refusal(`the server responded to starttls with ${quoted(answer)}`);
  if (!answer.endsWith('/>')) yield* upTo('</proceed>');
}

/** Fails early for another protocol, in which none of the marks would ever arrive. */
function* beginningOfXml(): Generator<Want, void, Buffer> {
  for (;;) {
    const letter = (yield* bytes(1)).toString('latin1');
    if (letter === '<') return;
    if (!/\s/.test(letter))
      throw new Malformed(`the response begins with ${quoted(letter)}, which is not XMPP`);
  }
}

function* upTo(...marks: string[]): Generator<Want, string, Buffer> {
  return (yield { kind: 'mark', marks }).toString('latin1');
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll("'", '&apos;');
}
