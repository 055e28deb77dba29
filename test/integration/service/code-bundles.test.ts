import { createHash, randomBytes } from 'node:crypto';
import { globSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { FetchedBundles } from '../../../src/agent/client/bundle-cache.ts';
import { maxCodeBundleBytes } from '../../../src/checks/contract/code-bundle.ts';
import { BundleMissing } from '../../../src/sandbox/suites/suite-host.ts';
import {
  createLocation,
  openHarness,
  type ServiceHarness,
  type TestLocation,
  temporaryFolder,
} from '../../helpers/service/service.ts';

const bytes = gzipSync(randomBytes(300_000));
const sha256 = createHash('sha256').update(bytes).digest('hex');
const key = `${sha256}-${bytes.length}`;

const artifacts = temporaryFolder();
/** The path of a bundle in the store, in any account. */
const bundlePlace = (bundle: string) =>
  join(artifacts.path, globSync(`**/${bundle}`, { cwd: artifacts.path })[0] ?? 'nowhere');

let harness: ServiceHarness;
let url: string;
let location: TestLocation;
beforeAll(async () => {
  harness = await openHarness({ codeBundleQuotaBytes: 1_000_000, artifactFolder: artifacts.path });
  url = await harness.app.listen({ port: 0, host: '127.0.0.1' });
  location = await createLocation(harness, 'lab');
});
afterAll(async () => {
  await harness.close();
  artifacts.remove();
});

async function upload(
  body: Buffer,
  headers: Readonly<Record<string, string>> = {},
  credential = harness.key,
) {
  const response = await fetch(new URL('/v1/code-bundles', url), {
    method: 'POST',
    headers: {
      authorization: `Bearer ${credential}`,
      'content-type': 'application/octet-stream',
      ...headers,
    },
    body: new Uint8Array(body),
  });
  return { status: response.status, body: (await response.json()) as { readonly key: string } };
}

const download = (path: string, credential: string) =>
  fetch(new URL(path, url), { headers: { authorization: `Bearer ${credential}` } });

describe('code bundles', () => {
  it('are uploaded, and returned unchanged, for the account and its agents', async () => {
    expect(await upload(bytes)).toEqual({
      status: 201,
      body: { key, contentLength: bytes.length, checksumSha256: sha256 },
    });
    for (const [path, credential] of [
      [`/v1/code-bundles/${key}`, harness.key],
      [`/v1/agent/code-bundles/${key}`, location.key],
    ] as const) {
      const response = await download(path, credential);
      expect(response.status).toBe(200);
      expect(response.headers.get('content-length')).toBe(String(bytes.length));
      expect(Buffer.from(await response.arrayBuffer()).equals(bytes), path).toBe(true);
    }
  });

  it('have one key for the same bytes', async () => {
    expect((await upload(bytes)).body.key).toBe(key);
    const base64 = Buffer.from(sha256, 'hex').toString('base64');
    expect((await upload(bytes, { 'x-bundle-checksum-sha256': sha256.toUpperCase() })).status).toBe(201);
    expect((await upload(bytes, { 'x-bundle-checksum-sha256': base64 })).status).toBe(201);
  });

  it('are refused if they do not match the checksum, or are not gzip', async () => {
    const wrong = await upload(bytes, { 'x-bundle-checksum-sha256': '0'.repeat(64) });
    expect(wrong).toMatchObject({
      status: 400,
      body: { error: 'Bad Request', validation: { keys: ['x-bundle-checksum-sha256'] } },
    });
    expect((await upload(Buffer.from('PK not a gzip'))).status).toBe(400);
    expect((await upload(Buffer.alloc(0))).status).toBe(400);
  });

  it('are refused above the limit, before the bytes are read', async () => {
    const status = await new Promise((resolve, reject) => {
      const request = httpRequest(new URL('/v1/code-bundles', url), {
        method: 'POST',
        headers: {
          authorization: `Bearer ${harness.key}`,
          'content-type': 'application/octet-stream',
          'content-length': String(maxCodeBundleBytes + 1),
        },
      });
      request.on('response', (response) => {
        resolve(response.statusCode);
        request.destroy();
      });
      request.on('error', reject);
      request.write(bytes);
    });
    expect(status).toBe(413);
  });

  it('belong to their account, and need a key that may write', async () => {
    await upload(bytes);
    const other = await harness.addAccount();
    expect((await download(`/v1/code-bundles/${key}`, other.key)).status).toBe(404);
    expect((await upload(bytes, {}, await harness.addKey('READ_ONLY'))).status).toBe(403);
    expect((await download(`/v1/agent/code-bundles/${key}`, harness.key)).status).toBe(401);
    expect((await download('/v1/code-bundles/no-key', harness.key)).status).toBe(400);
  });

  it('are the only references that a suite accepts', async () => {
    const suite = { name: 'shop', privateLocations: ['lab'], codeBundlePath: key };
    const created = await harness.call('POST', '/v1/checks/playwright', suite);
    expect(created.status).toBe(201);
    expect(created.body).toMatchObject({
      checkType: 'PLAYWRIGHT',
      codeBundlePath: key,
      testCommand: 'npx playwright test',
      browsers: ['chromium'],
      retryStrategy: null,
      doubleCheck: false,
    });
    const refused = await harness.call('POST', '/v1/checks/playwright', {
      ...suite,
      codeBundlePath: 'x',
      frequency: 0,
    });
    expect(refused.status).toBe(400);
  });
});

describe('the code bundles of an account', () => {
  const remove = async (bundle: string, credential: string) =>
    (
      await fetch(new URL(`/v1/code-bundles/${bundle}`, url), {
        method: 'DELETE',
        headers: { authorization: `Bearer ${credential}` },
      })
    ).status;

  it('have a quota, and can be deleted when no check refers to them', async () => {
    const { key: owner } = await harness.addAccount();
    const [first, second] = [gzipSync(randomBytes(600_000)), gzipSync(randomBytes(600_000))];
    const kept = await upload(first, {}, owner);
    expect([kept.status, (await upload(first, {}, owner)).status]).toEqual([201, 201]);
    expect((await upload(second, {}, owner)).status).toBe(507);
    // An existing bundle keeps its quota, even if it cannot be stored again.
    const place = bundlePlace(kept.body.key);
    renameSync(place, `${place}.aside`);
    mkdirSync(join(place, 'in the way'), { recursive: true });
    expect((await upload(first, {}, owner)).status).toBeGreaterThanOrEqual(500);
    rmSync(place, { recursive: true });
    renameSync(`${place}.aside`, place);
    expect((await upload(second, {}, owner)).status).toBe(507);
    await harness.call('POST', '/v1/private-locations', { name: 'own', slugName: 'own' }, { key: owner });
    const check = await harness.call(
      'POST',
      '/v1/checks/playwright',
      { name: 'suite', codeBundlePath: kept.body.key, privateLocations: ['own'] },
      { key: owner },
    );
    expect(check.status, JSON.stringify(check.body)).toBe(201);
    expect(await remove(kept.body.key, owner)).toBe(409);
    expect(await remove(kept.body.key, harness.key)).toBe(404);
    await harness.call('DELETE', `/v1/checks/${check.body.id}`, undefined, { key: owner });
    expect(await remove(kept.body.key, owner)).toBe(204);
    expect(await remove(kept.body.key, owner)).toBe(404);
    expect((await upload(second, {}, owner)).status).toBe(201);
  });
});

describe('code bundles of an agent', () => {
  const folder = temporaryFolder();
  let fetches: number;
  const signal = new AbortController().signal;
  beforeEach(() => {
    fetches = 0;
  });
  afterAll(() => folder.remove());

  const openBundles = (directory: string, maxBytes = 10_000_000, answer?: Buffer) =>
    FetchedBundles.open({
      directory: join(folder.path, directory),
      maxBytes,
      fetch: async (wanted) => {
        fetches += 1;
        if (answer) return Readable.from([answer]);
        const response = await download(`/v1/agent/code-bundles/${wanted}`, location.key);
        return response.status === 200 && response.body ? Readable.fromWeb(response.body) : undefined;
      },
    });

  it('are fetched once, even if several runs want one at the same time', async () => {
    await upload(bytes);
    const bundles = await openBundles('once');
    const all = await Promise.all([1, 2, 3].map(async () => buffer(await bundles.open(key, signal))));
    expect(all.every((one) => one.equals(bytes))).toBe(true);
    const later = await openBundles('once');
    expect((await buffer(await later.open(key, signal))).equals(bytes)).toBe(true);
    expect(fetches).toBe(1);
  });

  it('are never used if the bytes differ', async () => {
    for (const [name, answer] of Object.entries({
      changed: Buffer.alloc(bytes.length, 1),
      short: bytes.subarray(1),
      long: Buffer.concat([bytes, bytes]),
    })) {
      const bundles = await openBundles(name, undefined, answer);
      await expect(bundles.open(key, signal), name).rejects.toThrow(
        /more bytes than the code bundle has|do not match the code bundle/,
      );
      expect(readdirSync(join(folder.path, name))).toEqual([]);
    }
  });

  it('that do not exist are distinguished from those that are unavailable', async () => {
    const bundles = await openBundles('missing');
    await expect(bundles.open(`${'0'.repeat(64)}-5`, signal)).rejects.toThrow(BundleMissing);
  });

  it('make room for newer ones', async () => {
    const second = gzipSync(randomBytes(300_000));
    const { body } = await upload(second);
    await upload(bytes);
    const bundles = await openBundles('room', 400_000);
    await buffer(await bundles.open(key, signal));
    await buffer(await bundles.open(body.key, signal));
    expect(readdirSync(join(folder.path, 'room'))).toEqual([body.key]);
  });
});

describe('bundles that third-party command lines upload', () => {
  const send = async (place: string, body: Buffer, credential = harness.key) => {
    const response = await fetch(new URL(`/next/checkly-storage/${place}`, url), {
      method: 'POST',
      headers: { authorization: `Bearer ${credential}`, 'content-type': 'application/octet-stream' },
      body: new Uint8Array(body),
    });
    return { status: response.status, body: (await response.json()) as { readonly key: string } };
  };
  const ask = (place: string, wanted: string, credential = harness.key) =>
    harness.call('POST', `/next/checkly-storage/${place}`, { key: wanted }, { key: credential });

  it('are stored under a key of their content, for their account', async () => {
    const png = Buffer.concat([Buffer.from([0x89, 0x50, 0x4e, 0x47]), randomBytes(100)]);
    const bundle = await send('upload-code-bundle', bytes);
    expect(bundle).toEqual({ status: 201, body: { key } });
    const picture = await send('upload', png);
    expect(picture.status).toBe(201);
    expect((await ask('peek-code-bundle', key)).body).toEqual({ key, contentLength: bytes.length });
    const other = await harness.addAccount();
    for (const place of ['download', 'peek-code-bundle']) {
      expect((await ask(place, picture.body.key, other.key)).status).toBe(404);
    }
    const got = await fetch(new URL('/next/checkly-storage/download', url), {
      method: 'POST',
      headers: { authorization: `Bearer ${harness.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ key: picture.body.key }),
    });
    expect(Buffer.from(await got.arrayBuffer())).toEqual(png);
  });

  it('are refused if they are something else, too large, or named by a path', async () => {
    expect((await send('upload-code-bundle', Buffer.from('PK'))).status).toBe(400);
    expect((await send('upload', bytes)).status).toBe(400);
    const large = Buffer.alloc(11 * 2 ** 20);
    large.set([0x89, 0x50, 0x4e, 0x47]);
    expect((await send('upload', large)).status).toBe(413);
    for (const path of ['../../etc/passwd', `${harness.accountId}/${key}`, 'result-x-y', '']) {
      expect([path, (await ask('download', path)).status]).toEqual([path, 400]);
    }
    const unknown = `result-${'0'.repeat(8)}-0000-4000-8000-${'0'.repeat(12)}-../x`;
    expect((await ask('download', unknown)).status).toBe(404);
    const job = { logicalId: 'a', checkType: 'BROWSER', name: 'a', script: 'x', dependencies: [0] };
    const run = await harness.call('POST', '/v1/test-sessions/run', {
      ...{ name: 'try', runLocation: { type: 'PRIVATE', slugName: 'lab' }, checkRunJobs: [job] },
      sharedFiles: [{ path: '../../etc/cron.d/x', content: 'x' }],
    });
    expect(run.status).toBe(400);
    expect(run.body.validation.keys).toEqual(['checkRunJobs.0.dependencies.0.path']);
    const other = await harness.call('POST', '/v1/test-sessions/run', {
      ...{ name: 'try', runLocation: { type: 'PRIVATE', slugName: 'lab' } },
      checkRunJobs: [{ ...job, dependencies: [1] }],
    });
    expect(other.body.message).toContain('is not an index of sharedFiles: 1');
  });
});
