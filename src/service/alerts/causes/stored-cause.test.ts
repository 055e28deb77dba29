import { expect, it } from 'vitest';
import { advanceCauses } from './cause-lifecycle.ts';
import type { FailingCheck } from './failing-check.ts';
import { storedCause, storedCauseEvent } from './stored-cause.ts';

const now = 1_767_225_600_000;
const validTo = '2026-01-01T00:00:00.000Z';
const wildcard = { subject: '*.shop.test', issuer: 'CN=CA, O=Trust, issued by hand', validTo };

function failing(checkId: string, certificate: FailingCheck['certificate'] | string) {
  return {
    ...{ checkId, name: checkId, since: now, slotAt: now, intervalMs: 60_000, parentIds: [] },
    ...{ code: 'TLS_CERTIFICATE_INVALID', symptom: 'certificate', fromLocation: null },
    ...{ host: `${checkId}.test`, address: null, hop: null, nameServer: null, certificate },
    ...{ egressRule: null, content: null, failedAt: ['lab'], passedAt: [] },
  };
}

function openCause(certificate: FailingCheck['certificate'] | string) {
  const members = ['a', 'b'].map((id) => ({
    ...{ fact: failing(id, certificate), incident: null, alertId: `alert-${id}`, channelIds: [1] },
    ...{ joined: now, recovered: null, recovery: null },
  }));
  const state = { kind: 'certificate', evidence: 'any', reason: 'any', began: now, opened: now, members };
  return storedCause({ id: 'open', state: JSON.stringify(state) });
}

function failureOf(checkId: string, certificate: FailingCheck['certificate'] | string) {
  const news = {
    ...{ kind: 'failure', fact: failing(checkId, certificate), incident: null },
    ...{ alertId: `alert-${checkId}`, channelIds: [1] },
  };
  const read = storedCauseEvent({ content: JSON.stringify(news), created: now, due: now }, now);
  if (!read) throw new Error('news that cannot be read');
  return read;
}

const context = { unhealthy: new Map(), targetsAt: new Map(), parents: new Map() };
const memberIds = (open: ReturnType<typeof openCause>, news: ReturnType<typeof failureOf>) =>
  advanceCauses([open], [news], { now, context, newId: () => 'new' }).changed.map(
    ({ id, members }) => `${id}: ${members.map(({ fact }) => fact.checkId).join(' ')}`,
  );

const byBuild = [
  ['builds before 8.0', `*.shop.test, issued by ${wildcard.issuer}, valid to ${validTo}`, wildcard],
  [
    'builds before 8.0, with no name',
    `no name, issued by nobody, valid to ${validTo}`,
    { subject: null, issuer: null, validTo },
  ],
  ['this build', wildcard, wildcard],
] as const;

it.each(byBuild)(
  'a check joins the open cause of its certificate that %s stored',
  (_build, stored, certificate) => {
    expect(memberIds(openCause(stored), failureOf('c', certificate))).toEqual(['open: a b c']);
    // A failure that was pending while the service was upgraded.
    expect(memberIds(openCause(certificate), failureOf('c', stored))).toEqual(['open: a b c']);
  },
);

it('a check with another certificate begins a new cause', () => {
  const renewed = { ...wildcard, validTo: '2027-01-01T00:00:00.000Z' };
  expect(memberIds(openCause(wildcard), failureOf('c', renewed))).toEqual(['new: c']);
});
