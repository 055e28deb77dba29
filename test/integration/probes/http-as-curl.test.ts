import { spawn, spawnSync } from 'node:child_process';
import { createServer } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { MalformedAnswer } from '../../../src/probes/http/answer-head.ts';
import { AnswerParser } from '../../../src/probes/http/answer-parser.ts';
import { type AnswerForm, answerForms, answerWith } from '../../helpers/targets/answer-forms.ts';
import { probe } from '../../helpers/targets/http-request.ts';
import { listen } from '../../helpers/targets/listening.ts';

const curl = spawnSync('curl', ['--version']).error === undefined;
const named = answerForms.map((form) => [form.name, form] as const);

/** A server that sends one form in response to every request. */
function startForm(form: AnswerForm) {
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    socket.once('data', () => answerWith(socket, form));
  });
  return listen(server, { scheme: 'http' });
}

describe('a response is accepted like by curl', () => {
  it.each(named)('%s', async (_name, form) => {
    await using target = await startForm(form);
    const result = await probe(target.url, { timeoutMs: 20_000, followRedirects: false });
    const expected = form.ours === undefined ? null : form.ours;
    expect(result.error?.kind ?? null).toBe(expected);
    if (expected !== null) return;
    expect(result.head?.status).toBe(form.status ?? 200);
    expect(result.body.bytes.toString('latin1')).toBe(form.body);
    expect(result.body.isTruncated).toBe(false);
  });

  it.skipIf(!curl).each(named)('as curl itself reports: %s', async (_name, form) => {
    await using target = await startForm(form);
    const child = spawn('curl', ['--silent', '--noproxy', '*', target.url], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const [body, exit] = await Promise.all([
      text(child.stdout),
      new Promise<number | null>((resolve) => child.once('exit', resolve)),
    ]);
    expect(exit).toBe(form.curlExit);
    if (form.body !== undefined) expect(body).toBe(form.body);
  });
});

/** The result of a parser for a response that arrives in pieces of that size, and then ends. */
function parsed({ raw }: AnswerForm, pieceBytes: number) {
  const heads: unknown[] = [];
  const body: Buffer[] = [];
  let isWhole = false;
  const listener = {
    onStart: () => undefined,
    onHead: (head: unknown) => heads.push(head),
    onBody: (bytes: Buffer) => body.push(Buffer.from(bytes)),
    onEnd: () => {
      isWhole = true;
    },
  };
  const parser = new AnswerParser(listener, { isBodyless: false, isUpgradeAsked: false });
  let problem: string | undefined;
  try {
    const bytes = Buffer.from(raw, 'latin1');
    for (let start = 0; start < bytes.length && !parser.isDone; start += pieceBytes) {
      parser.feed(Buffer.from(bytes.subarray(start, start + pieceBytes)));
    }
    if (!parser.isDone) parser.end();
  } catch (thrown) {
    if (!(thrown instanceof MalformedAnswer)) throw thrown;
    problem = 'malformed';
  }
  return { heads, body: problem ? '' : Buffer.concat(body).toString('latin1'), isWhole, problem };
}

it.each(named)('is parsed equally in any pieces: %s', (_name, form) => {
  const whole = parsed(form, form.raw.length + 1);
  const sizes = form.raw.length > 1000 ? [1, 4093] : Array.from({ length: 40 }, (_, index) => index + 1);
  for (const pieceBytes of sizes) expect(parsed(form, pieceBytes), `${pieceBytes}`).toEqual(whole);
});
