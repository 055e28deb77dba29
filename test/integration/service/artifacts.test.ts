import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { LeasedRun } from '../../../src/protocol/agent/agent.ts';
import { maxArtifactBytes } from '../../../src/protocol/results/artifact.ts';
import { ManualClock } from '../../helpers/manual-clock.ts';
import { isNight } from '../../helpers/night.ts';
import { artifactOf, type TestArtifact, upload } from '../../helpers/service/artifact-upload.ts';
import {
  createCheck,
  createLocation,
  openHarness,
  reportOf,
  type ServiceHarness,
  TestAgent,
  type TestLocation,
  temporaryFolder,
  until,
} from '../../helpers/service/service.ts';

const folder = temporaryFolder();
const clock = new ManualClock();
let harness: ServiceHarness;
let url: string;
let location: TestLocation;
let agent: TestAgent;
beforeAll(async () => {
  harness = await openHarness({ artifactFolder: folder.path, clock });
  url = await harness.app.listen({ port: 0, host: '127.0.0.1' });
  location = await createLocation(harness, 'lab');
  agent = new TestAgent(harness, location);
  // Seen once, so that slots of this location are queued for it.
  await agent.claim();
  harness.startScheduler();
});
afterAll(async () => {
  await harness.close();
  folder.remove();
});

/** A run of a new check, leased to the agent. */
async function leased(): Promise<LeasedRun & { readonly checkId: string }> {
  const check = await createCheck(harness, { privateLocations: ['lab'], frequency: 1 });
  const run = await until('a run', async () => {
    clock.advance(1000);
    return (await agent.claim()).find((one) => one.check.id === check.id);
  });
  return { ...run, checkId: check.id };
}

/** The same, with its result reported and accepted. */
async function reported(...artifacts: TestArtifact[]) {
  const run = await leased();
  const receipts = await agent.report([reportOf(run, { artifacts: artifacts.map((one) => one.reported) })]);
  expect(receipts).toEqual(['accepted']);
  return run;
}

const put = (run: Pick<LeasedRun, 'runId' | 'leaseNumber'>, bytes: Buffer, more: object = {}) =>
  upload({ url, key: location.key, run, bytes, ...more });
const assetsPath = (run: LeasedRun & { checkId: string }) =>
  `/v1/check-results/${run.checkId}/${run.resultId}/assets`;
const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  fetch(url + path, { method, headers: { authorization: `Bearer ${harness.key}`, ...headers } });
/** The parsed JSON at a path. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape
const json = async (path: string): Promise<any> => (await get(path)).json();
const incoming = () => readdirSync(join(folder.path, 'incoming'));

describe('sending an artifact', () => {
  it('makes it visible when it is complete, byte for byte, and not before', async () => {
    const reason = '1 file within it is left out: a.pdf (pdf files cannot be searched for secrets)';
    const one = artifactOf(randomBytes(1_000_000), { reason, scrub: { method: 'searched', found: 0 } });
    const run = await reported(one);
    expect((await json(assetsPath(run))).assets).toEqual([]);
    expect((await get(`${assetsPath(run)}/screenshot.png`)).status).toBe(404);
    expect(await put(run, one.bytes)).toEqual({
      status: 200,
      body: { status: 'stored', sizeBytes: 1_000_000, sha256: one.reported.sha256 },
    });
    const { assets } = await json(assetsPath(run));
    expect(assets).toEqual([
      {
        type: 'screenshot',
        name: 'screenshot.png',
        url: `${assetsPath(run)}/screenshot.png`,
        contentType: 'image/png',
        sizeBytes: 1_000_000,
        sha256: one.reported.sha256,
        source: { type: 'check-result', checkId: run.checkId, resultId: run.resultId },
      },
    ]);
    const bytes = Buffer.from(await (await get(assets[0].url)).arrayBuffer());
    expect(bytes.equals(one.bytes)).toBe(true);
    const result = await json(`/v1/check-results/${run.checkId}/${run.resultId}`);
    expect(result.artifacts).toMatchObject([{ name: 'screenshot.png', state: 'stored', reason }]);
  });

  it('may be repeated, by one sender in sequence or by two at once', async () => {
    const one = artifactOf(randomBytes(3_000_000));
    const run = await reported(one);
    const both = await Promise.all([put(run, one.bytes), put(run, one.bytes)]);
    expect(both.map(({ status }) => status)).toEqual([200, 200]);
    expect(await put(run, one.bytes)).toMatchObject({ status: 200, body: { status: 'duplicate' } });
    const answer = await get(`${assetsPath(run)}/screenshot.png`);
    expect(Buffer.from(await answer.arrayBuffer()).equals(one.bytes)).toBe(true);
    expect(incoming()).toEqual([]);
  });

  it('leaves nothing behind when the connection breaks at any point, and can be restarted', async () => {
    const one = artifactOf(randomBytes(2_000_000));
    const run = await reported(one);
    for (let turn = 0; turn < 20; turn += 1) {
      const breakAt = turn === 0 ? 1 : Math.floor(Math.random() * one.bytes.length);
      expect(await put(run, one.bytes, { breakAt })).toMatchObject({ status: 0 });
      expect((await json(assetsPath(run))).assets).toEqual([]);
    }
    await until('no file is incoming', () => incoming().length === 0);
    expect(await put(run, one.bytes)).toMatchObject({ status: 200 });
  });

  const itAtNight = isNight ? it : () => undefined;
  itAtNight('accepts 150 MB and no byte more, even without a declared length', async () => {
    const exact = artifactOf(Buffer.alloc(maxArtifactBytes), { name: 'exact.bin' });
    const run = await reported(exact);
    const before = process.memoryUsage.rss();
    expect(await put(run, exact.bytes, { name: 'exact.bin' })).toMatchObject({ status: 200 });
    // The sender's own 150 MB are in this process too, and were allocated before.
    expect(process.memoryUsage.rss() - before).toBeLessThan(150e6);
    const more = Buffer.alloc(maxArtifactBytes + 1);
    const other = await reported(artifactOf(Buffer.alloc(10), { name: 'more.bin' }));
    const refused = await put(other, more, { name: 'more.bin' });
    expect(refused).toMatchObject({ status: 413, body: { error: 'Payload Too Large' } });
    const chunked = { 'transfer-encoding': 'chunked' };
    expect(await put(other, more, { name: 'more.bin', headers: chunked })).toMatchObject({ status: 422 });
    const whole = await reported({ ...exact, reported: { ...exact.reported, name: 'whole.bin' } });
    expect(await put(whole, more, { name: 'whole.bin', headers: chunked })).toMatchObject({ status: 413 });
    // A result that announces more than that is invalid.
    const tooLarge = artifactOf(Buffer.alloc(1), { sizeBytes: maxArtifactBytes + 1 });
    expect(await agent.report([reportOf(await leased(), { artifacts: [tooLarge.reported] })])).toEqual([
      'rejected',
    ]);
    expect(incoming()).toEqual([]);
  });

  it('may be empty', async () => {
    const run = await reported(artifactOf(Buffer.alloc(0)));
    expect(await put(run, Buffer.alloc(0))).toMatchObject({ status: 200, body: { sizeBytes: 0 } });
    const answer = await get(`${assetsPath(run)}/screenshot.png`);
    expect([answer.status, await answer.text()]).toEqual([200, '']);
  });

  it('refuses bytes that do not match the result', async () => {
    const one = artifactOf();
    const run = await reported(one);
    const changed = Buffer.from(one.bytes);
    changed[50_000] = (changed[50_000] ?? 0) ^ 1;
    expect(await put(run, changed)).toMatchObject({
      status: 422,
      body: { message: expect.stringMatching(/SHA-256/) },
    });
    expect(await put(run, one.bytes.subarray(1))).toMatchObject({ status: 422 });
    expect(
      await put(run, one.bytes.subarray(1), { headers: { 'transfer-encoding': 'chunked' } }),
    ).toMatchObject({ status: 422 });
    const digest = createHash('sha256').update(changed).digest('base64');
    expect(await put(run, changed, { headers: { 'content-digest': `sha-256=:${digest}:` } })).toMatchObject({
      status: 422,
    });
    expect(incoming()).toEqual([]);
    expect(await put(run, one.bytes)).toMatchObject({ status: 200 });
  });

  it('requires the lease whose result was stored, and its location', async () => {
    const one = artifactOf();
    const run = await reported(one);
    expect(await put({ ...run, leaseNumber: run.leaseNumber + 1 }, one.bytes)).toMatchObject({ status: 409 });
    expect(await put({ ...run, runId: randomUUID() }, one.bytes)).toMatchObject({ status: 409 });
    expect(await put(run, one.bytes, { name: 'another.png' })).toMatchObject({ status: 409 });
    const elsewhere = await createLocation(harness, `other-${randomUUID().slice(0, 8)}`);
    expect(await put(run, one.bytes, { key: elsewhere.key })).toMatchObject({ status: 409 });
    expect(await put(run, one.bytes, { key: harness.key })).toMatchObject({ status: 401 });
    // A lost lease: its late result is fenced, and so are its artifacts.
    const late = await leased();
    await agent.release([late]);
    expect(await agent.report([reportOf(late, { artifacts: [one.reported] })])).toEqual(['stale']);
    expect(await put(late, one.bytes)).toMatchObject({ status: 409 });
  });

  it.each([
    ['..%2F..%2Fetc%2Fpasswd', 400],
    ['a%2F..%2Fb', 400],
    ['a%00b', 400],
    ['a%0Ab', 400],
    ['a%E2%80%AEgpj.exe', 400],
    ['%2Fabsolute', 400],
    ['a//b', 400],
    ['...', 400],
    ['%E0%A4%A', 400],
  ])('refuses a name like %s', async (name, status) => {
    const one = artifactOf();
    expect(await put(await reported(one), one.bytes, { name })).toMatchObject({ status });
  });

  it('allows folders in its name', async () => {
    const one = artifactOf(randomBytes(10), { name: 'run-1/Case_A.trace/x.png' });
    const run = await reported(one);
    expect(await put(run, one.bytes, { name: 'run-1%2FCase_A.trace%2Fx.png' })).toMatchObject({
      status: 200,
    });
    const { assets } = await json(assetsPath(run));
    expect(assets[0].name).toBe('run-1/Case_A.trace/x.png');
    expect((await get(assets[0].url)).status).toBe(200);
  });

  it('counts it as lost if it does not arrive in time', async () => {
    const one = artifactOf();
    const run = await reported(one);
    harness.startLeaseSweep();
    await until('it is lost', async () => {
      clock.advance(600_000);
      const result = await json(`/v1/check-results/${run.checkId}/${run.resultId}`);
      return result.artifacts[0].state === 'lost';
    });
    expect(await put(run, one.bytes)).toMatchObject({ status: 409 });
  });

  it('is deleted with its check', async () => {
    const one = artifactOf();
    const run = await reported(one);
    await put(run, one.bytes);
    expect(existsSync(join(folder.path, 'objects', run.checkId))).toBe(true);
    await harness.call('DELETE', `/v1/checks/${run.checkId}`);
    expect((await get(`${assetsPath(run)}/screenshot.png`)).status).toBe(404);
    harness.startLeaseSweep();
    await until('its folder is gone', () => {
      clock.advance(60_000);
      return !existsSync(join(folder.path, 'objects', run.checkId));
    });
  });
});

describe('artifacts that could not be kept', () => {
  it('are listed in the result, with the reason', async () => {
    const run = await reported(
      artifactOf(Buffer.alloc(0), {
        name: 'video.webm',
        state: 'refused',
        sizeBytes: 160_000_000_000,
        sha256: null,
        reason: 'too large',
      }),
      artifactOf(Buffer.alloc(0), {
        name: 'r\u00E9sum\u00E9?',
        state: 'withheld',
        sha256: null,
        reason: 'secret',
      }),
    );
    const result = await json(`/v1/check-results/${run.checkId}/${run.resultId}`);
    expect(result.artifacts).toEqual([
      {
        name: 'video.webm',
        contentType: 'image/png',
        sizeBytes: 160_000_000_000,
        state: 'refused',
        reason: 'too large',
      },
      { name: 'résumé?', contentType: 'image/png', sizeBytes: 0, state: 'withheld', reason: 'secret' },
    ]);
    expect(await put(run, Buffer.alloc(0), { name: 'video.webm' })).toMatchObject({ status: 409 });
    const list = await json(`/v1/check-results/${run.checkId}`);
    expect(list[0].artifacts).toHaveLength(2);
  });
});

describe('downloading an artifact', () => {
  const bytes = Buffer.from('0123456789');
  const stored = async (fields: Parameters<typeof artifactOf>[1] = {}) => {
    const one = artifactOf(bytes, { name: 'a.txt', contentType: 'text/plain', ...fields });
    const run = await reported(one);
    expect((await put(run, bytes, { name: one.reported.name })).status).toBe(200);
    return { run, path: `${assetsPath(run)}/${one.reported.name}`, etag: `"${one.reported.sha256}"` };
  };

  it('serves ranges', async () => {
    const { path, etag } = await stored();
    const range = async (header: string, more: Record<string, string> = {}) => {
      const answer = await get(path, { range: header, ...more });
      return [
        answer.status,
        answer.headers.get('content-range'),
        answer.status < 400 && (await answer.text()),
      ];
    };
    expect(await range('bytes=2-4')).toEqual([206, 'bytes 2-4/10', '234']);
    expect(await range('bytes=7-')).toEqual([206, 'bytes 7-9/10', '789']);
    expect(await range('bytes=-3')).toEqual([206, 'bytes 7-9/10', '789']);
    expect(await range('bytes=-99')).toEqual([206, 'bytes 0-9/10', '0123456789']);
    expect(await range('bytes=5-999')).toEqual([206, 'bytes 5-9/10', '56789']);
    expect(await range('bytes=10-')).toEqual([416, 'bytes */10', false]);
    expect(await range('bytes=4-2')).toEqual([200, null, '0123456789']);
    expect(await range('bytes=0-1,4-5')).toEqual([200, null, '0123456789']);
    expect(await range('bytes=2-4', { 'if-range': etag })).toEqual([206, 'bytes 2-4/10', '234']);
    expect(await range('bytes=2-4', { 'if-range': '"other"' })).toEqual([200, null, '0123456789']);
  });

  it('recognizes cached copies, and answers HEAD', async () => {
    const { path, etag } = await stored();
    const same = await get(path, { 'if-none-match': etag });
    expect([same.status, await same.text()]).toEqual([304, '']);
    const head = await get(path, {}, 'HEAD');
    expect([head.status, head.headers.get('content-length'), head.headers.get('etag')]).toEqual([
      200,
      '10',
      etag,
    ]);
  });

  it.each([
    ['a.png', 'image/png', 'inline'],
    ['a.html', 'text/html; charset=utf-8', 'attachment'],
    ['a.svg', 'image/svg+xml', 'attachment'],
    ['a.js', 'text/javascript', 'attachment'],
    ['a.pcap', 'application/vnd.tcpdump.pcap', 'attachment'],
  ])('lets no browser run %s', async (name, contentType, disposition) => {
    const { path } = await stored({ name, contentType });
    const { headers } = await get(path);
    expect(headers.get('content-type')).toBe(contentType);
    expect(headers.get('content-disposition')).toBe(`${disposition}; filename="${name}"`);
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('content-security-policy')).toContain('sandbox');
  });

  it('requires the account of the result', async () => {
    const { path, run } = await stored();
    const stranger = await harness.addAccount();
    for (const one of [path, assetsPath(run)]) {
      expect((await get(one, { authorization: `Bearer ${stranger.key}` })).status).toBe(404);
      expect((await get(one, { authorization: 'Bearer nothing' })).status).toBe(401);
      expect((await get(one, { authorization: `Bearer ${location.key}` })).status).toBe(401);
    }
  });

  it('lists by type and by name', async () => {
    const { run } = await stored();
    const names = async (query: string) =>
      (await json(`${assetsPath(run)}?${query}`)).assets.map(({ name }: { name: string }) => name);
    expect(await names('type=file')).toEqual(['a.txt']);
    expect(await names('type=video')).toEqual([]);
    expect(await names('name=*.txt')).toEqual(['a.txt']);
    expect(await names('name=b*')).toEqual([]);
  });
});
