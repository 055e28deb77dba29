import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { KnownVersions } from '../../../src/agent/trust/known-versions.ts';
import { claimedKeys, Trust } from '../../../src/agent/trust/trust.ts';
import { newPrivateKey, publicKeyLine, readPublicKey } from '../../../src/lib/signing/signing-keys.ts';
import { signCheck } from '../../../src/protocol/signing/check-signature.ts';
import { contentOf } from '../../../src/protocol/signing/signed-run.ts';
import { leasedRun } from '../../helpers/agent/fake-service/leased-run.ts';
import { ManualClock } from '../../helpers/manual-clock.ts';
import { quietLogger } from '../../helpers/service/service.ts';

const folder = mkdtempSync(join(tmpdir(), 'picket-versions-'));
afterAll(() => rmSync(folder, { recursive: true }));

it('refuses an older version than any agent of the folder has run, also after a restart', () => {
  const first = new KnownVersions(folder, 'a', quietLogger);
  const second = new KnownVersions(folder, 'a', quietLogger);
  expect(first.newerThan({ subject: 'shop/home', serial: 5 })).toBeUndefined();
  expect(first.newerThan({ subject: 'shop/home', serial: 5 })).toBeUndefined();
  // The other agent of the folder reads it before it accepts a version that it has not seen.
  expect(second.newerThan({ subject: 'shop/home', serial: 4 })).toBe(5);
  expect(second.newerThan({ subject: 'shop/cart', serial: 2 })).toBeUndefined();
  expect(first.newerThan({ subject: 'shop/home', serial: 6 })).toBeUndefined();
  const restarted = new KnownVersions(folder, 'a', quietLogger);
  expect(restarted.newerThan({ subject: 'shop/home', serial: 5 })).toBe(6);
  expect(restarted.newerThan({ subject: 'shop/cart', serial: 1 })).toBe(2);
  expect(
    new KnownVersions(folder, 'other', quietLogger).newerThan({ subject: 'shop/home', serial: 1 }),
  ).toBeUndefined();
  expect(statSync(join(folder, 'picket-signed.a.json')).mode & 0o777).toBe(0o600);
});

it('works in memory where the folder cannot be used, or the file is not its own', () => {
  for (const [directory, tag] of [
    [join(folder, 'absent'), 'a'],
    [folder, 'broken'],
  ] as const) {
    if (tag === 'broken') writeFileSync(join(folder, 'picket-signed.broken.json'), '["not", "versions"]');
    const versions = new KnownVersions(directory, tag, quietLogger);
    expect(versions.newerThan({ subject: 'a/b', serial: 3 })).toBeUndefined();
    expect(versions.newerThan({ subject: 'a/b', serial: 2 })).toBe(3);
  }
  expect(JSON.parse(readFileSync(join(folder, 'picket-signed.broken.json'), 'utf8'))).toEqual({ 'a/b': 3 });
});

it('never remembers a version that no trusted key signed', () => {
  const [key, other] = [newPrivateKey(), newPrivateKey()];
  const trusted = readPublicKey(publicKeyLine(key)) ?? expect.fail('not a key');
  const clock = new ManualClock(Date.now());
  const trust = new Trust([trusted], { clock, log: quietLogger, folder: { path: folder, tag: 'trust' } });
  const run = leasedRun('http://a.test/');
  const at = (serial: number, by: typeof key) => ({
    ...run,
    signature: signCheck(
      { subject: 'shop/home', serial, notAfter: null, ...contentOf({ ...run, proxies: [] }, []) },
      by,
    ),
  });
  expect(trust.judge(at(9, other))).toMatchObject({ distrust: { reason: 'UNKNOWN_KEY' } });
  expect(trust.judge(at(5, key))).toHaveProperty('run');
  expect(trust.judge(at(4, key))).toMatchObject({ distrust: { reason: 'OLDER' } });
  expect(Object.fromEntries(trust.refusals)).toMatchObject({ UNKNOWN_KEY: 1, OLDER: 1, UNSIGNED: 0 });
  const revoked = new Trust([trusted], {
    ...{ revokedIds: [trusted.id], clock, log: quietLogger },
    folder: { path: folder, tag: 'revoked' },
  });
  expect(revoked.judge(at(6, key))).toMatchObject({ distrust: { reason: 'REVOKED', keyId: trusted.id } });
  expect(claimedKeys([trusted], [trusted.id])).toEqual([]);
  expect(claimedKeys([], [])).toBeNull();
  const any = new Trust([], { clock, log: quietLogger, folder: { path: folder, tag: 'any' } });
  expect(any.judge(run)).toEqual({ run });
});

it('accepts a version again without verifying it, until its time is over, and nothing that differs', () => {
  const key = newPrivateKey();
  const now = Date.parse('2026-11-28T12:00:00Z');
  const clock = new ManualClock(now);
  const trusted = readPublicKey(publicKeyLine(key)) ?? expect.fail('not a key');
  const trust = new Trust([trusted], { clock, log: quietLogger, folder: { path: folder, tag: 'again' } });
  const run = leasedRun('http://a.test/', { variables: { TOKEN: 'one' } });
  const statement = contentOf({ ...run, variables: {}, proxies: [] }, ['TOKEN']);
  const head = { subject: 'shop:home', serial: now, notAfter: now + 10_000 };
  const signature = signCheck({ ...head, ...statement }, key);
  const signed = { ...run, signature };
  const id = crypto.randomUUID();
  expect(trust.judge(signed)).toEqual({ run: signed });
  expect(trust.judge({ ...signed, runId: id })).toEqual({ run: { ...signed, runId: id } });
  expect(trust.judge({ ...signed, variables: { TOKEN: 'two', OTHER: 'x' } })).toMatchObject({
    run: { variables: { TOKEN: 'two' } },
  });
  expect(trust.judge({ ...signed, runtimeId: '2025.04' })).toMatchObject({ distrust: { reason: 'CHANGED' } });
  clock.advance(10_000);
  expect(trust.judge(signed)).toMatchObject({ distrust: { reason: 'EXPIRED' } });
  const ahead = signCheck({ ...head, ...statement, serial: now + 2 * 86_400_000, notAfter: null }, key);
  expect(trust.judge({ ...run, signature: ahead })).toMatchObject({ distrust: { reason: 'EXPIRED' } });
});
