import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fromBufferPromise } from 'yauzl';
import { ZipFile } from 'yazl';
import { FileScrubber } from '../../../src/agent/delivery/artifacts/artifact-scrubber.ts';
import { ErrorReporter } from '../../../src/agent/error-report/error-reporter.ts';
import { scrubbedLog } from '../../../src/agent/scrub/scrubbed-log.ts';
import { Scrubber } from '../../../src/agent/scrub/scrubber.ts';
import { SecretFinder } from '../../../src/checks/secrets/secret-finder.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { createLogger } from '../../../src/lib/log.ts';
import { type WrittenSecret, writtenForms } from '../../helpers/agent/scrub-forms.ts';
import { quietLogger } from '../../helpers/service/service.ts';

const secrets = [
  'p@ss/w"örd+& 100%',
  'tok_9fQ2x7LmZpR4sVb8',
  "it's <a> & `b` $c",
  'line one\nline two\r\nline three',
  '日本語の秘密の言葉',
  '.*+?^${}()|[]\\/',
  '!@#$%^&*()_+',
  JSON.stringify({ user: 'a"b', list: [1, 'x'] }),
  createHash('sha512').update('long').digest('base64').repeat(20),
];
/** Forms that a text sink can receive: JSON and logs contain text, not bytes of other encodings. */
const isText = ({ form }: WrittenSecret) => !/^UTF-(?:16|32)/.test(form) && form !== 'Latin-1';

/**
 * Every sink that leaves the agent; returns its output for a text. JSON output is decoded, because escapes must not
 * hide a secret.
 */
const sinks: readonly (readonly [string, (text: string, secret: string) => Promise<string> | string])[] = [
  [
    'the detail of a result',
    (text, secret) => read(new Scrubber([secret]).json({ body: text, deep: [{ text }] })),
  ],
  [
    'a key of a header',
    (text, secret) => read(new Scrubber([secret]).json({ headers: { [`x-${text}`]: 'a' } })),
  ],
  [
    'messages and facts of a result',
    (text, secret) =>
      read(
        new Scrubber([secret]).envelope({
          resultId: crypto.randomUUID(),
          runId: crypto.randomUUID(),
          leaseNumber: 1,
          startedAt: 1,
          stoppedAt: 2,
          responseTimeMs: 1,
          startDelayMs: 0,
          agentLagMs: 0,
          isDegraded: null,
          overMaxResponseTime: null,
          failure: {
            ...{ owner: 'target', code: 'DIALOGUE_FAILED', message: text },
            details: { host: text, router: text, proxyStatusText: text, egressRule: text, loop: [text, 'a'] },
          },
          errorMessages: [text, `before ${text} after`],
        } as Parameters<Scrubber['envelope']>[0]),
      ),
  ],
  ['the log of a run', (text, secret) => new Scrubber([secret]).text(text)],
  [
    "the agent's own log",
    (text, secret) => {
      const written: string[] = [];
      const output = scrubbedLog(
        { write: (line) => void written.push(line), close: async () => undefined },
        new Scrubber([secret]),
      );
      createLogger('test', 'info', output).info({ text, nested: { text } }, text);
      return read(written.join(''));
    },
  ],
  [
    'an error report',
    async (text, secret) => {
      const sent: string[] = [];
      const reporter = new ErrorReporter({
        clock: systemClock,
        log: quietLogger,
        scrubber: new Scrubber([secret]),
        send: async (envelope) => void sent.push(envelope),
      });
      reporter.report(new Error(`failed with ${text}`, { cause: new Error(text) }));
      await reporter.flush(5000);
      const envelopes = sent.join('');
      expect(envelopes).toContain('exception');
      return envelopes;
    },
  ],
];

/** The texts of a JSON document, concatenated. */
function read(json: string): string {
  const texts: string[] = [];
  JSON.parse(json, (key, value: unknown) => {
    texts.push(key);
    if (typeof value === 'string') texts.push(value);
    return value;
  });
  return texts.join('\n');
}

describe.each(sinks)('%s', (_name, leave) => {
  it('lets no form of a secret out', async () => {
    const leaks: string[] = [];
    for (const secret of secrets) {
      for (const { form, bytes, leak } of writtenForms(secret).filter(isText)) {
        if (leak.length < 8) continue;
        const left = await leave(`before ${bytes.toString()} after`, secret);
        if (left.includes(leak.toString())) leaks.push(`${form}: ${secret}`);
      }
    }
    expect(leaks).toEqual([]);
  }, 180_000);
});

/** Files that runs produce, with functions to put bytes in and to read the output back. */
const files: readonly (readonly [
  string,
  (bytes: Buffer) => Promise<Buffer> | Buffer,
  (file: Buffer) => Promise<Buffer> | Buffer,
])[] = [
  ['log.txt', (bytes) => Buffer.concat([Buffer.from('a\n'), bytes, Buffer.from('\nb')]), (file) => file],
  ['report.json', (bytes) => Buffer.from(JSON.stringify({ at: bytes.toString('latin1') })), (file) => file],
  [
    'report.html',
    (bytes) => Buffer.concat([Buffer.from('<html><script>const x = "'), bytes, Buffer.from('"</script>')]),
    (file) => file,
  ],
  [
    'session.har',
    (bytes) =>
      Buffer.concat([Buffer.from('{"log":{"entries":[{"response":{"text":"'), bytes, Buffer.from('"}}]}}')]),
    (file) => file,
  ],
  ['log.gz', (bytes) => gzipSync(bytes), (file) => gunzipSync(file)],
  ['trace.zip', (bytes) => zipped({ 'trace.trace': bytes, 'resources/body.dat': gzipSync(bytes) }), unzipped],
];

describe('a file', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'picket-sinks-'));
  });
  afterAll(async () => await rm(folder, { recursive: true }));

  it.each(files)(
    '%s reveals no form of a secret',
    async (name, make, readBack) => {
      const leaks: string[] = [];
      const [source, target] = [join(folder, name), join(folder, `${name}.out`)];
      for (const secret of secrets) {
        const scrubber = new FileScrubber(() => new SecretFinder([secret]));
        const forms = writtenForms(secret).filter(({ leak }) => leak.length >= 8);
        await writeFile(
          source,
          await make(
            Buffer.concat(forms.flatMap(({ bytes }) => [Buffer.from(' '), bytes, Buffer.from(' ')])),
          ),
        );
        expect(await scrubber.scrub(source, target, AbortSignal.timeout(10_000))).toMatchObject({
          isSendable: true,
        });
        const left = await readBack(await readFile(target));
        for (const { form, leak } of forms)
          if (left.includes(leak)) leaks.push(`${form}: ${secret.slice(0, 40)}`);
      }
      expect(leaks).toEqual([]);
    },
    60_000,
  );
});

async function zipped(members: Readonly<Record<string, Buffer>>): Promise<Buffer> {
  const zip = new ZipFile();
  for (const [name, bytes] of Object.entries(members)) zip.addBuffer(bytes, name);
  zip.end();
  const path = join(await mkdtemp(join(tmpdir(), 'picket-zip-')), 'zip');
  await pipeline(zip.outputStream, createWriteStream(path));
  const bytes = await readFile(path);
  await rm(join(path, '..'), { recursive: true });
  return bytes;
}

async function unzipped(file: Buffer): Promise<Buffer> {
  const archive = await fromBufferPromise(file, { lazyEntries: true });
  const parts: Buffer[] = [];
  for await (const entry of archive.eachEntry()) {
    const bytes = await buffer(await archive.openReadStreamPromise(entry));
    parts.push(entry.fileName.endsWith('.dat') ? gunzipSync(bytes) : bytes);
  }
  return Buffer.concat(parts);
}
