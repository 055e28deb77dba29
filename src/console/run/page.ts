import { findCheckType } from '@picket/checks/index.ts';
import { assetRoutes } from '@picket/protocol/results/artifact.ts';
import {
  type CheckResult,
  checkResultRoutes,
  summaryOfResult,
} from '@picket/protocol/results/check-result.ts';
import { checkSessionRoutes } from '@picket/protocol/sessions/check-session.ts';
import { copyable } from '../elements/copy.ts';
import { factRows } from '../elements/fact-lists.ts';
import { duration, instant, shortened } from '../elements/format.ts';
import { type Content, type Html, html, path } from '../html.ts';
import type { Page, PageAnswer, PageCall, View } from '../page.ts';
import { rootCauseOf } from '../root-causes/section.ts';
import { attemptSection } from './attempts.ts';
import { changeSection } from './changes.ts';
import { comparePage } from './compare.ts';
import { copyFile, copyPage } from './copy.ts';
import { curlButton, detailParts } from './detail.ts';
import { evidenceOf } from './evidence/evidence.ts';
import { crumbs, lastPassedBefore, leftOutNotice, runAgainForm } from './parts.ts';
import { slotPage } from './slot.ts';
import { findEarlierPath } from './summary/path.ts';
import { verdictOf } from './verdict.ts';
import { verdictCard } from './verdict-card.ts';

export const runPages: readonly Page[] = [
  { path: '/checks/:checkId/runs/:resultId', title: 'Run', role: 'READ_ONLY', handler: runPage },
  {
    path: '/checks/:checkId/runs/:resultId/files/*',
    title: 'File of a run',
    role: 'READ_ONLY',
    handler: runFile,
  },
  {
    path: '/checks/:checkId/runs/:resultId/compare',
    title: 'Comparison',
    role: 'READ_ONLY',
    handler: comparePage,
  },
  { path: '/checks/:checkId/file', title: 'Run it yourself', role: 'READ_ONLY', handler: copyPage },
  { path: '/checks/:checkId/file/check.yaml', title: 'check.yaml', role: 'READ_ONLY', handler: copyFile },
  { path: '/checks/:checkId/slots/:slotId', title: 'Not measured', role: 'READ_ONLY', handler: slotPage },
  { method: 'POST', path: '/checks/:checkId/run', title: 'Run again', role: 'READ_RUN', handler: runAgain },
];

async function runPage(call: PageCall): Promise<View> {
  const { api, params } = call;
  const { checkId = '', resultId = '' } = params;
  const result = await api.call(checkResultRoutes.getCheckResult, {
    params: { checkId, checkResultId: resultId },
  });
  const verdict = verdictOf(result);
  const summary = summaryOfResult(result);
  const hasPassed = verdict.state === 'passed';
  const [check, attempts, lastPass, cause, earlierPath] = await Promise.all([
    call.store.checks.find(call.viewer.accountId, checkId),
    attemptSection(call, result),
    hasPassed ? undefined : lastPassedBefore(call, result),
    rootCauseOf(call, result, path`/checks/${checkId}/runs/${resultId}`),
    findEarlierPath(call, result, summary),
  ]);
  const [evidence, changes] = await Promise.all([
    evidenceOf(call, result, { summary, lastPass }),
    lastPass ? changeSection(call, result, lastPass) : noPassNotice(hasPassed),
  ]);
  // Heartbeats are not run by an agent.
  const isRun = check !== undefined && !findCheckType(check.checkType)?.pings;
  const { sections, log } = detailParts(result, { summary, earlierPath });
  const actions = html`<div class="actions">${curlButton(summary)}${
    isRun
      ? html`<a class="button" href="${path`/checks/${checkId}/file`}">Run it yourself</a>${runAgainForm(call, checkId)}`
      : ''
  }</div>`;
  const main = html`${crumbs(checkId, result.name)}
${verdictCard(verdict, result, { cause: cause.line, actions })}
${evidence.bar}${leftOutNotice(result)}${changes}${cause.section}${attempts}${evidence.pictures}${sections}${evidence.files}${log}${timeline(result)}`;
  return { title: `${verdict.word}: ${shortened(result.name, 80)}`, main };
}

function noPassNotice(hasPassed: boolean): Content {
  return hasPassed
    ? ''
    : html`<p class="hint">No run passed in the seven days before, so there is nothing to compare with.</p>`;
}

/** Shows the instants of a run, from its slot to the store, and its ids. */
function timeline(result: CheckResult): Html {
  return html`<section><details><summary>Timeline of this run</summary>${factRows([
    ['Due', instant(result.scheduledAt)],
    ['Started', result.startedAt ? instant(result.startedAt) : ''],
    ['Started (agent’s clock)', result.hostStartedAt ? instant(result.hostStartedAt) : ''],
    ['Stopped', result.stoppedAt ? instant(result.stoppedAt) : ''],
    ['Stored', instant(result.created_at)],
    ['Lease to probe', duration(result.startDelayMs)],
    ['Agent delay', duration(result.agentLagMs)],
    ['Agent overhead', duration(result.agentOverheadMs)],
    ['Sequence', result.sequenceId === null ? '' : copyable(result.sequenceId, 'the id of the sequence')],
    ['Check', copyable(result.checkId, 'the id of the check')],
  ])}</details></section>`;
}

async function runFile({ api, params }: PageCall): Promise<PageAnswer> {
  const { checkId = '', resultId = '', '*': name = '' } = params;
  return {
    file: await api.answer(assetRoutes.getAsset, { params: { checkId, checkResultId: resultId, name } }),
  };
}

/** Runs a check now, and shows its progress. */
async function runAgain({ api, params }: PageCall): Promise<PageAnswer> {
  const { checkId = '' } = params;
  const { sessions } = await api.call(checkSessionRoutes.triggerCheckSessions, {
    body: { target: { checkId } },
  });
  const [session] = sessions;
  return {
    goTo: session ? path`/sessions/checks/${session.checkSessionId}` : path`/checks/${checkId}`,
  };
}
