import { describe, expect, it } from 'vitest';
import { scrubBytes } from '../../../src/agent/scrub/files/scrub-bytes.ts';
import { ScrubStream } from '../../../src/agent/scrub/files/scrub-stream.ts';
import { Scrubber } from '../../../src/agent/scrub/scrubber.ts';
import { SecretFinder } from '../../../src/checks/secrets/secret-finder.ts';
import { cutForms, otherForms, rareForms } from '../../helpers/agent/rare-forms.ts';
import { writtenForms } from '../../helpers/agent/scrub-forms.ts';

const mask = '*********';
const secrets = [
  'tok_9fQ2x7LmZpR4sVb8',
  'eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N',
  'p@ss/w"örd+& 100%',
  `it's "quoted" & 'doubled' <a>`,
  'hunter2',
  'Grüße-Ärger-Öl',
  '日本語の秘密の言葉',
  '!@#$%^&*()_+',
  'C:\\keys\\"prod"\\',
  'sk_live_51H8xYzKqP2mN4vB6cD8fG0hJ2kL4',
];

/** Returns the output for bytes that went through a sink. */
type Sink = (bytes: Buffer) => Buffer | Promise<Buffer>;

/** Creates a sink for one secret; each sink receives the secret in a form, surrounded by other text. */
const sinks: readonly (readonly [string, (secret: string) => Sink])[] = [
  [
    'a file',
    (secret) => {
      const finder = new SecretFinder([secret]);
      return (bytes) => scrubBytes(bytes, { finder, mask }).bytes;
    },
  ],
  [
    'a stream',
    (secret) => {
      const finder = new SecretFinder([secret]);
      return (bytes) => streamed(bytes, finder);
    },
  ],
  [
    'a text of a result',
    (secret) => {
      const scrubber = new Scrubber([secret]);
      return (bytes) => Buffer.from(scrubber.text(bytes.toString()));
    },
  ],
  [
    'the detail of a result',
    (secret) => {
      const scrubber = new Scrubber([secret]);
      return (bytes) => {
        const json = scrubber.json({ response: { body: bytes.toString() } });
        return Buffer.from((JSON.parse(json) as { response: { body: string } }).response.body);
      };
    },
  ],
  [
    'JSON in a file',
    (secret) => {
      const finder = new SecretFinder([secret]);
      return (bytes) => {
        const json = Buffer.from(`${JSON.stringify({ text: bytes.toString() })}\n`);
        const clean = scrubBytes(json, { finder, mask }).bytes.toString();
        return Buffer.from((JSON.parse(clean) as { text: string }).text);
      };
    },
  ],
];

async function streamed(bytes: Buffer, finder: SecretFinder): Promise<Buffer> {
  const stream = new ScrubStream(finder, mask);
  const pieces: Buffer[] = [];
  stream.on('data', (piece: Buffer) => pieces.push(piece));
  const ended = Promise.withResolvers<void>();
  stream.on('end', ended.resolve);
  for (let at = 0; at < bytes.length; at += 7) stream.write(bytes.subarray(at, at + 7));
  stream.end();
  await ended.promise;
  return Buffer.concat(pieces);
}

describe.each(sinks)('%s', (_sink, sinkFor) => {
  it('reveals no rare form of a secret', async () => {
    const leaks: string[] = [];
    for (const secret of secrets) {
      const leave = sinkFor(secret);
      for (const { form, bytes, leak } of [...rareForms(secret), ...otherForms(secret)]) {
        const left = await leave(Buffer.concat([Buffer.from('before '), bytes, Buffer.from(' after')]));
        if (left.includes(leak)) leaks.push(`${form}: ${secret}`);
      }
    }
    expect(leaks).toEqual([]);
  });

  it('reveals no part of a secret after a cut', async () => {
    const leaks: string[] = [];
    for (const secret of secrets.filter(({ length }) => length > 8)) {
      const leave = sinkFor(secret);
      for (const { form, bytes, leak } of cutForms(secret)) {
        const left = await leave(bytes);
        if (left.includes(leak)) leaks.push(`${form}: ${secret}: ${left}`);
      }
    }
    expect(leaks).toEqual([]);
  });
});

it('finds the forms of every secret among all of them', () => {
  const finder = new SecretFinder(secrets);
  const leaks: string[] = [];
  for (const secret of secrets) {
    for (const { form, bytes, leak } of [
      ...rareForms(secret),
      ...otherForms(secret),
      ...cutForms(secret),
      ...writtenForms(secret),
    ]) {
      if (leak.length >= 8 && scrubBytes(bytes, { finder, mask }).bytes.includes(leak))
        leaks.push(`${form}: ${secret}`);
    }
  }
  expect(leaks).toEqual([]);
});
