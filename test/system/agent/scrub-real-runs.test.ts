import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fromBufferPromise } from 'yauzl';
import type { FinishedRun } from '../../../src/agent/run/contracts.ts';
import { LagMeter } from '../../../src/agent/runners/lag/lag-meter.ts';
import { RunPipeline } from '../../../src/agent/runners/run-pipeline.ts';
import { wholeReport } from '../../../src/agent/scrub/report-texts.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { createEgressPolicy } from '../../../src/probes/egress/policy.ts';
import { readablePieces } from '../../helpers/agent/readable-pieces.ts';
import { type ScriptStage, startScriptStage } from '../../helpers/scripts/script-stage.ts';
import { type HttpTarget, startHttpTarget } from '../../helpers/targets/http-target.ts';

const secret = 'tok_9f8e7d6c5b4a39281706';
/** Created by the target: the agent knows none of them. */
const live = {
  bearer: 'eyJsaXZlIjoiYmVhcmVyIn0.q9w8e7r6t5y4u3i2',
  key: 'live-key-5f4e3d2c1b0a9988',
  cookie: 'live-session-0a1b2c3d4e5f6a7b',
  gitlab: 'glpat-4d3c2b1a0f9e8d7c6b5a',
  auth: 'live-auth-token-77f1e2d3c4b5',
  /** Sent in requests that succeed: only the trace contains it. */
  quiet: 'live-quiet-3f2e1d0c9b8a7766',
};

/** Every use of a secret, and of credentials that the run received from the target. */
const script = (url: string) => `
import { test, expect } from '@playwright/test';
import { gzipSync, deflateSync, crc32 } from 'node:zlib';
import { randomBytes } from 'node:crypto';

const secret = process.env.TOKEN;
const filler = randomBytes(30000).toString('base64');

function zipOf(name, text) {
  const body = Buffer.from(text);
  const head = (signature, length) => { const made = Buffer.alloc(length); made.writeUInt32LE(signature); return made; };
  const sum = crc32(body);
  const local = head(0x04034b50, 30);
  local.writeUInt16LE(20, 4); local.writeUInt32LE(sum, 14); local.writeUInt32LE(body.length, 18); local.writeUInt32LE(body.length, 22); local.writeUInt16LE(name.length, 26);
  const entry = head(0x02014b50, 46);
  entry.writeUInt16LE(20, 4); entry.writeUInt16LE(20, 6); entry.writeUInt32LE(sum, 16); entry.writeUInt32LE(body.length, 20); entry.writeUInt32LE(body.length, 24); entry.writeUInt16LE(name.length, 28);
  const end = head(0x06054b50, 22);
  end.writeUInt16LE(1, 8); end.writeUInt16LE(1, 10); end.writeUInt32LE(46 + name.length, 12); end.writeUInt32LE(30 + name.length + body.length, 16);
  return Buffer.concat([local, Buffer.from(name), body, entry, Buffer.from(name), end]);
}

function png(text) {
  const chunk = (type, data) => {
    const made = Buffer.concat([Buffer.alloc(4), Buffer.from(type), data, Buffer.alloc(4)]);
    made.writeUInt32BE(data.length);
    made.writeUInt32BE(crc32(Buffer.concat([Buffer.from(type), data])), 8 + data.length);
    return made;
  };
  const header = Buffer.alloc(13); header.writeUInt32BE(1, 0); header.writeUInt32BE(1, 4); header[8] = 8;
  return Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), chunk('IHDR', header), chunk('zTXt', Buffer.concat([Buffer.from('note\\0\\0'), deflateSync(text)])), chunk('IDAT', deflateSync(Buffer.from([0, 0]))), chunk('IEND', Buffer.alloc(0))]);
}

test('attaches and compares', async ({ page }) => {
  await page.goto('${url}/shop');
  const info = test.info();
  await info.attach('zip', { body: zipOf('word/document.xml', '<t>' + secret + '</t>'), contentType: 'application/zip' });
  await info.attach('gz', { body: gzipSync(filler + secret + filler), contentType: 'application/gzip' });
  await info.attach('zlib', { body: deflateSync(filler.slice(0, 99) + secret), contentType: 'application/octet-stream' });
  await info.attach('png', { body: png(secret), contentType: 'image/png' });
  await info.attach('text', { body: 'it is ' + secret, contentType: 'text/plain' });
  const text = 'before ' + secret + ' after';
  const part = secret.slice(8, 14);
  expect.soft(text).not.toContain(part);
  expect.soft(text).not.toMatch(new RegExp(part));
  expect.soft('a\\n' + text + '\\nb').toBe('a\\n' + text.replace(part, 'xx') + '\\nb');
  expect.soft([text, 'c']).toEqual([text.replace(part, '') , 'c']);
  expect.soft(page.url()).toBe('x');
});

test('calls what answers', async ({ request }) => {
  const { quiet } = await (await request.get('${url}/login')).json();
  await request.get('${url}/shop', { headers: { Authorization: 'Bearer ' + quiet } });
  await request.post('${url}/shop', { data: { again: quiet } });
  console.log('the log has ' + quiet + ', too');
});

test('calls what hangs', async ({ request }) => {
  const login = await (await request.get('${url}/login')).json();
  const given = [
    { Authorization: 'Bearer ' + login.bearer }, { 'x-api-key': login.key }, { Cookie: 'theme=dark; sid=' + login.cookie },
    { 'PRIVATE-TOKEN': login.gitlab }, { 'X-Auth-Token': login.auth }, { 'Proxy-Authorization': 'Bearer ' + login.bearer },
  ];
  console.log({ headers: given });
  console.error('request:', JSON.stringify(given[0]), given[1]);
  for (const headers of given) {
    try {
      await request.get('${url}/hang', { headers, timeout: 300 });
    } catch (thrown) {
      console.log(thrown);
      console.log('again: ' + thrown.message);
      expect.soft(thrown.message).toBe('none');
    }
  }
  await request.get('${url}/hang', { headers: Object.assign({}, ...given), timeout: 300 });
});
`;

describe('the remains of real runs', () => {
  let stage: ScriptStage;
  let target: HttpTarget;
  let folder: string;
  beforeAll(async () => {
    stage = await startScriptStage();
    folder = await mkdtemp(join(tmpdir(), 'picket-real-runs-'));
    target = await startHttpTarget({
      routes: {
        login: (_request, reply) => {
          reply.writeHead(200, { 'content-type': 'application/json', 'set-cookie': `sid=${live.cookie}` });
          reply.end(JSON.stringify(live));
        },
        shop: (_request, reply) => {
          reply.writeHead(200, { 'content-type': 'text/html' });
          reply.end('<!doctype html><title>Shop</title><p>Open</p>');
        },
        hang: () => undefined,
      },
    });
  });
  afterAll(async () => {
    await target.close();
    await stage.close();
    await rm(folder, { recursive: true, force: true });
  });

  it('contain no secret, and no credential that a run received, in any runtime', {
    timeout: 300_000,
  }, async (context) => {
    if (stage.missingBrowser && process.env.CI !== 'true') context.skip(stage.missingBrowser);
    const found: string[] = [];
    for (const runtimeId of stage.runtimes.ids) {
      const finished = await run(runtimeId);
      const { report } = finished;
      const sinks: [string, Buffer][] = [
        ['result', Buffer.from(wholeReport(report))],
        ['log', Buffer.from(JSON.stringify(finished.log))],
        ['facts', Buffer.from(JSON.stringify(finished.facts))],
      ];
      const files = report.artifacts?.files ?? [];
      expect(files.map(({ name }) => name)).toEqual(
        expect.arrayContaining(['report.json', 'traces/calls-what-hangs.zip']),
      );
      for (const { name, path } of files) sinks.push(...(await membersOf(name, await readFile(path))));
      for (const [sink, bytes] of sinks) {
        for (const text of readablePieces(bytes)) {
          for (const [name, value] of Object.entries({ secret, ...live })) {
            if (text.includes(value)) found.push(`${runtimeId} ${sink}: ${name}: ${around(text, value)}`);
          }
        }
      }
      expect(sinks.length).toBeGreaterThan(10);
    }
    expect(found).toEqual([]);
  });

  async function run(runtimeId: string): Promise<FinishedRun> {
    const pipeline = new RunPipeline({
      clock: systemClock,
      lagMeter: new LagMeter(systemClock),
      ownSecrets: ['key-of-the-agent-itself'],
      egress: createEgressPolicy(),
      hosts: { scripts: stage.host },
    });
    const ids = { runId: crypto.randomUUID(), leaseNumber: 1, resultId: crypto.randomUUID() };
    return await pipeline.run(
      {
        ...ids,
        checkType: 'BROWSER',
        spec: { script: script(target.url), runtimeId },
        input: {
          variables: { TOKEN: secret },
          secretNames: ['TOKEN'],
          proxyUrl: null,
          clientCertificates: [],
          runtimeId,
        },
        receivedAtMs: systemClock.monotonicMs(),
        timeoutMs: 120_000,
        isLogWanted: true,
      },
      {
        serviceOffsetMs: systemClock.wallMs() - systemClock.monotonicMs(),
        artifactFolder: join(folder, runtimeId),
        spareRuns: 0,
      },
      new AbortController().signal,
    );
  }
});

function around(text: string, value: string): string {
  const at = text.indexOf(value);
  return JSON.stringify(text.slice(Math.max(0, at - 60), at + 10));
}

/** A file, or all files of an archive and of nested archives. */
async function membersOf(name: string, bytes: Buffer): Promise<[string, Buffer][]> {
  if (bytes.subarray(0, 4).toString('latin1') !== 'PK\u0003\u0004') return [[name, bytes]];
  const members: [string, Buffer][] = [];
  const archive = await fromBufferPromise(bytes, { lazyEntries: true });
  for await (const entry of archive.eachEntry()) {
    members.push([`name of ${entry.fileName}`, Buffer.from(entry.fileName)]);
    if (entry.fileName.endsWith('/')) continue;
    const inner = await buffer(await archive.openReadStreamPromise(entry));
    members.push(...(await membersOf(`${name}/${entry.fileName}`, inner)));
  }
  return members;
}
