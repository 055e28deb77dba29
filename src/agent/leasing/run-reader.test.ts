import { LeasedRun } from '@picket/protocol/agent/agent.ts';
import { expect, it } from 'vitest';
import { RunReader } from './run-reader.ts';

const ids = () => ({
  runId: crypto.randomUUID(),
  resultId: crypto.randomUUID(),
  sequenceId: crypto.randomUUID(),
  checkRunId: Math.floor(Math.random() * 1e9),
});

function leased(changes: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  return {
    ...ids(),
    leaseNumber: 1,
    slotAt: 1_000,
    attempt: 0,
    accountId: 'account',
    location: { name: 'lab', proxyUrl: null },
    check: {
      id: 'a',
      name: 'A',
      checkType: 'URL',
      spec: { request: { url: 'http://a', headers: [{ key: 'k' }] } },
    },
    variables: { A: '1' },
    secretNames: [],
    ...changes,
  };
}

const check = (spec: unknown) => ({ check: { id: 'a', name: 'A', checkType: 'URL', spec } });

it.each([
  ['a run like the last', {}],
  ['another lease', { leaseNumber: 7, slotAt: 2_000, attempt: 1, mayBeRetried: true, mayReportLater: true }],
  ['another request', check({ request: { url: 'http://b', headers: [{ key: 'k' }] } })],
  ['a longer list', check({ request: { url: 'http://a', headers: [{ key: 'k' }, { key: 'l' }] } })],
  ['a list that became an object', check({ request: { url: 'http://a', headers: { 0: { key: 'k' } } } })],
  ['a field less', check({ request: { url: 'http://a' } })],
  ['a value that became null', check({ request: null })],
  ['another name with the same value', check({ other: { url: 'http://a', headers: [{ key: 'k' }] } })],
  ['other variables', { variables: { A: '2' } }],
  ['a new field', { secretNames: ['A'], proxy: 1 }],
  ['another proxy', { location: { name: 'lab', proxyUrl: 'http://proxy' } }],
])('reads %s as if it were the first', (_what, changes) => {
  const reader = new RunReader();
  reader.read(leased());
  const next = leased(changes);
  expect(reader.read(next)).toEqual(LeasedRun.safeParse(next));
  expect(reader.read(next)).toEqual(LeasedRun.safeParse(next));
});

it('reads what is the same once', () => {
  const reader = new RunReader();
  const specs = [leased(), leased({ leaseNumber: 2 })].map((raw) => reader.read(raw).data?.check.spec);
  expect(specs[1]).toBe(specs[0]);
});

it.each([
  ['null', null],
  ['no object', 'run'],
  ['no check', { ...leased(), check: undefined }],
  ['a wrong id', leased({ runId: 'no uuid' })],
  ['a wrong fencing token', leased({ leaseNumber: 0 })],
])('refuses %s, after a run of the same check too', (_what, raw) => {
  const reader = new RunReader();
  reader.read(leased());
  expect(reader.read(raw).success).toBe(false);
});
