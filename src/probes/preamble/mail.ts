import { line, Malformed, type Preamble, quoted, Refusal, say, type Want } from './preamble.ts';

/** RFC 3207. */
export function* smtp(): Preamble {
  yield* smtpReply('220', 'the greeting');
  yield* say('EHLO picket.invalid\r\n');
  const abilities = yield* smtpReply('250', 'EHLO');
  if (!abilities.some((text) => /^STARTTLS\b/i.test(text))) {
    throw new Refusal('the server does not offer STARTTLS');
  }
  yield* say('STARTTLS\r\n');
  yield* smtpReply('220', 'STARTTLS');
}

/** Reads a reply, which may have several lines, and returns their texts. */
function* smtpReply(wanted: string, what: string): Generator<Want, string[], Buffer> {
  const texts: string[] = [];
  for (;;) {
    const reply = yield* line();
    const [, code, separator, text = ''] = /^(\d{3})(?:([ -])(.*))?$/.exec(reply) ?? [];
    if (code === undefined) throw new Malformed(`${quoted(reply)} is not an SMTP reply`);
    if (code !== wanted) throw new Refusal(`the server responded to ${what} with ${quoted(reply)}`);
    texts.push(text);
    if (separator !== '-') return texts;
  }
}

/** RFC 9051 section 6.2.1. */
export function* imap(): Preamble {
  const greeting = yield* line();
  if (!greeting.startsWith('* ')) throw new Malformed(`${quoted(greeting)} is not an IMAP greeting`);
  if (!/^\* OK\b/i.test(greeting)) throw new Refusal(`the server greeted with ${quoted(greeting)}`);
  yield* say('a CAPABILITY\r\n');
  const abilities = yield* imapReply('a');
  if (!abilities.some((text) => /^\* CAPABILITY\b.*\bSTARTTLS\b/i.test(text))) {
    throw new Refusal('the server does not offer STARTTLS');
  }
  yield* say('b STARTTLS\r\n');
  yield* imapReply('b');
}

/** Returns the lines before the one that completes the command. */
function* imapReply(tag: string): Generator<Want, string[], Buffer> {
  const lines: string[] = [];
  for (;;) {
    const reply = yield* line();
    if (reply.startsWith(`${tag} `)) {
      if (/^\w+ OK\b/i.test(reply)) return lines;
      throw new Refusal(`the server responded with ${quoted(reply)}`);
    }
    if (!reply.startsWith('* ')) throw new Malformed(`${quoted(reply)} is not an IMAP response`);
    lines.push(reply);
  }
}

/** RFC 2595 section 4. */
export function* pop3(): Preamble {
  yield* pop3Reply('the greeting');
  yield* say('STLS\r\n');
  yield* pop3Reply('STLS');
}

function* pop3Reply(what: string): Preamble {
  const reply = yield* line();
  if (/^\+OK\b/.test(reply)) return;
  if (!reply.startsWith('-ERR')) throw new Malformed(`${quoted(reply)} is not a POP3 response`);
  throw new Refusal(`the server responded to ${what} with ${quoted(reply)}`);
}
