import { findCheckType } from '@picket/checks/index.ts';
import { AppError } from '@picket/lib/errors.ts';
import { assetRoutes } from '@picket/protocol/results/artifact.ts';
import {
  type CheckResult,
  checkResultRoutes,
  summaryOfResult,
} from '@picket/protocol/results/check-result.ts';
import { slotRoutes } from '@picket/protocol/runs/slot.ts';
import { checkSessionRoutes } from '@picket/protocol/sessions/check-session.ts';
import { reasonWords } from '../elements/charts/slot-bar.ts';
import { duration, instant, shortened } from '../elements/format.ts';
import { stateBadge } from '../elements/state.ts';
import { facts, table } from '../elements/table.ts';
import { section, visible } from '../elements/text.ts';
import { type Content, type Html, html, path, withQuery } from '../html.ts';
import type { Page, PageAnswer, PageCall, View } from '../page.ts';
import { rootCauseSection } from '../root-causes/section.ts';
import { comparePage } from './compare.ts';
import { copyFile, copyPage } from './copy.ts';
import { detailParts } from './detail.ts';
import { evidenceSections } from './evidence.ts';
import { crumbs, lastPassedBefore, leftOutNotice, runAgainForm } from './parts.ts';
import { findEarlierPath } from './summary/path.ts';
import { verdictOf } from './verdict.ts';

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

const dayMs = 86_400_000;

async function runPage(call: PageCall): Promise<View> {
  const { api, params } = call;
  const { checkId = '', resultId = '' } = params;
  const result = await api.call(checkResultRoutes.getCheckResult, {
    params: { checkId, checkResultId: resultId },
  });
  const verdict = verdictOf(result);
  const summary = summaryOfResult(result);
  const check = await call.store.checks.find(call.viewer.accountId, checkId);
  // Heartbeats are not run by an agent.
  const isRun = check !== undefined && !findCheckType(check.checkType)?.pings;
  const [attempts, lastPassed, evidence, rootCause, earlierPath] = await Promise.all([
    attemptsOf(call, result),
    verdict.state === 'passed' ? undefined : lastPassedBefore(call, result),
    evidenceSections(call, result),
    rootCauseSection(call, result, path`/checks/${checkId}/runs/${resultId}`),
    findEarlierPath(call, result, summary),
  ]);
  const { sections, log } = detailParts(result, { summary, earlierPath });
  const main = html`${crumbs(checkId, result.name)}
<div class="verdict verdict-${verdict.state}">${stateBadge(verdict.state, verdict.word)}
<h1>${visible(shortened(verdict.sentence, 400))}</h1>
${verdict.detail === null ? '' : html`<p class="verdict-detail">${visible(shortened(verdict.detail, 1_000))}</p>`}
${verdict.whatFailed === null ? '' : html`<p><b>Failed part:</b> ${verdict.whatFailed}.</p>`}
${facts([
  ['When', instant(result.startedAt ?? result.created_at)],
  ['Where', visible(result.runLocation)],
  [
    'Response time',
    verdict.state === 'failed' && result.responseTime === 0 ? '' : duration(result.responseTime),
  ],
  ['Attempt', result.attempts > 0 ? `${result.attempts + 1}` : ''],
  ['Code', result.failure ? html`<code>${result.failure.code}</code>` : ''],
])}
<div class="actions">${isRun ? runAgainForm(call, checkId) : ''}${
    lastPassed
      ? html`<a class="button" href="${path`/checks/${checkId}/runs/${resultId}/compare`}">Compare with the last pass</a><a class="button" href="${path`/checks/${checkId}/runs/${lastPassed.id}`}">Last pass (${duration(lastPassed.responseTime)})</a>`
      : ''
  }${isRun ? html`<a class="button" href="${path`/checks/${checkId}/file`}">Run it yourself</a>` : ''}</div></div>
${leftOutNotice(result)}${rootCause}${attempts}${sections}${evidence}${log}${leaseFacts(result)}`;
  return { title: `${verdict.word}: ${shortened(result.name, 80)}`, main };
}

/** Shows the attempts of a run with more than one. */
async function attemptsOf({ api }: PageCall, result: CheckResult): Promise<Content> {
  if (result.attempts === 0 && result.resultType === 'FINAL') return '';
  const { checkId, sequenceId, scheduledAt } = result;
  const to = new Date(Date.parse(scheduledAt) + dayMs).toISOString();
  const all = await api.call(checkResultRoutes.listCheckResults, {
    params: { checkId },
    query: { from: scheduledAt, to, resultType: 'ALL', limit: 100 },
  });
  const rows = all
    .filter((one) => one.sequenceId === sequenceId)
    .sort((left, right) => left.attempts - right.attempts);
  if (rows.length < 2) return '';
  return section(
    'Attempts',
    table<CheckResult>({
      caption: 'Attempts of this run',
      rows,
      empty: '',
      columns: [
        { title: '#', cell: ({ attempts }) => attempts + 1, isNumber: true },
        {
          title: 'Outcome',
          cell: (one) => {
            const { state, word, sentence } = verdictOf(one);
            const words = html`${stateBadge(state, word)} <span class="soft">${visible(shortened(sentence, 120))}</span>`;
            return one.id === result.id
              ? words
              : html`<a href="${path`/checks/${checkId}/runs/${one.id}`}">${words}</a>`;
          },
        },
        { title: 'Where', cell: ({ runLocation }) => visible(runLocation) },
        { title: 'When', cell: ({ startedAt, created_at: createdAt }) => instant(startedAt ?? createdAt) },
        { title: 'Time', cell: ({ responseTime }) => duration(responseTime), isNumber: true },
      ],
    }),
  );
}

function leaseFacts(result: CheckResult): Html {
  return html`<section><details><summary>Timeline of this run</summary>${facts([
    ['Due', instant(result.scheduledAt)],
    ['Started', result.startedAt ? instant(result.startedAt) : ''],
    ['Started (agent’s clock)', result.hostStartedAt ? instant(result.hostStartedAt) : ''],
    ['Stopped', result.stoppedAt ? instant(result.stoppedAt) : ''],
    ['Stored', instant(result.created_at)],
    ['Lease to probe', duration(result.startDelayMs)],
    ['Agent delay', duration(result.agentLagMs)],
    ['Agent overhead', duration(result.agentOverheadMs)],
    ['Result', html`<code>${result.id}</code>`],
    ['Sequence', result.sequenceId === null ? '' : html`<code>${result.sequenceId}</code>`],
  ])}</details></section>`;
}

async function runFile({ api, params }: PageCall): Promise<PageAnswer> {
  const { checkId = '', resultId = '', '*': name = '' } = params;
  return {
    file: await api.answer(assetRoutes.getAsset, { params: { checkId, checkResultId: resultId, name } }),
  };
}

/** Shows a slot without a result, and why it was not measured. */
async function slotPage({ api, params, query, store, viewer }: PageCall): Promise<View> {
  const { checkId = '', slotId = '' } = params;
  const at = Number(query.get('at'));
  const check = await store.checks.find(viewer.accountId, checkId);
  const { entries } = await api.call(slotRoutes.listCheckSlots, {
    params: { id: checkId },
    query: { from: String(at), to: String(at + 1), limit: 1000 },
  });
  const slot = entries.find(({ id }) => id === slotId);
  if (!slot)
    throw new AppError('NOT_FOUND', 'This run does not exist. Records of runs are kept for a limited time.');
  const several = slot.slotCount > 1 ? `${slot.slotCount} runs were` : 'The run was';
  const main = html`${crumbs(checkId, check?.name ?? '')}
<div class="verdict verdict-missed">${stateBadge('missed')}<h1>${slot.state === 'CANCELLED' ? `${several} cancelled` : `${several} not measured`}</h1>
<p><b>Reason:</b> ${slot.explanation ?? reasonWords(slot.reason)}</p>
<p>No data for this time. It counts as a gap, neither up nor down.</p>
${facts([
  ['Due', instant(slot.scheduledAt)],
  ['Where', visible(slot.location)],
  ['Abandoned', slot.endedAt ? instant(slot.endedAt) : ''],
  ['Code', slot.reason === null ? '' : html`<code>${slot.reason}</code>`],
])}</div>`;
  return { main };
}

async function runAgain({ api, params }: PageCall): Promise<PageAnswer> {
  const { checkId = '' } = params;
  const { sessions } = await api.call(checkSessionRoutes.triggerCheckSessions, {
    body: { target: { checkId } },
  });
  return { goTo: withQuery(path`/checks/${checkId}`, { session: sessions[0]?.checkSessionId }) };
}
