import { type CheckResult, summaryOfResult } from '@picket/protocol/results/check-result.ts';
import type { LiveLogRun } from '@picket/protocol/sessions/live-log.ts';
import { whyUnmeasured } from '@picket/service/sessions/able-agents.ts';
import { ago, counted, duration, instant, shortened } from '../elements/format.ts';
import { stateBadge } from '../elements/state.ts';
import { visible } from '../elements/text.ts';
import { type Content, type Html, html, path } from '../html.ts';
import { logPart } from '../run/summary/log.ts';
import { verdictOf } from '../run/verdict.ts';

/** A run as the ledger has it. */
export type RunRow = Parameters<typeof whyUnmeasured>[0];

/** A requested run, with the results of its attempts so far, oldest first. */
export interface ProgressOfRun {
  readonly run: RunRow;
  readonly name?: Content;
  readonly results: readonly CheckResult[];
  readonly hrefOf: (result: CheckResult) => string;
  /** The log of the running attempt; absent if no agent has the run. */
  readonly live?: LiveLogRun | undefined;
}

/** Newest lines that the page of a running attempt shows: it is sent again every second. */
const shownLiveLines = 100;

type StageState = 'done' | 'now' | 'open' | 'bad' | 'missed';

/** Step of a run: in the queue, at an agent, ended. */
interface Stage {
  readonly word: Content;
  readonly state: StageState;
}

/** Shows how far each run is, and the result and the log of each attempt as soon as they arrive. */
export function progressList(runs: readonly ProgressOfRun[], now: number): Html {
  return html`<ol class="progress">${runs.map((one) => progressOf(one, now))}</ol>`;
}

function progressOf({ run, name, results, hrefOf, live }: ProgressOfRun, now: number): Html {
  const last = results.at(-1);
  const isOver = run.state !== 'queued' && run.state !== 'leased';
  const link =
    isOver && last
      ? html`<a class="button${isBad(last) ? ' primary' : ''}" href="${hrefOf(last)}">Open the run</a>`
      : '';
  return html`<li><div class="progress-top"><p>${name === undefined ? '' : html`<b>${name}</b> `}<span class="soft">at</span> <code>${visible(shortened(run.location, 64))}</code></p>${link}</div>
<ol class="stages" aria-label="Progress">${stagesOf(run, last, now).map(stageItem)}</ol>
${results.map((result, index) => attemptOf(result, { href: hrefOf(result), isOnly: results.length === 1 && isOver, isOpen: index === results.length - 1 }))}${
  run.state === 'leased' ? liveLogOf(run, live, now) : ''
}</li>`;
}

/** The log of a running attempt so far. */
function liveLogOf({ sequence_id: id, attempt }: RunRow, live: LiveLogRun | undefined, now: number): Html {
  const lines = live?.lines ?? [];
  if (lines.length === 0) {
    return live?.isFollowed
      ? html`<p class="hint">The log of this attempt appears here as its script writes it. An agent of an earlier version sends it with the result.</p>`
      : html`<p class="hint">The agent sends the log of an attempt with its result.</p>`;
  }
  const left = lines.length - shownLiveLines;
  const earlier =
    left > 0
      ? html`<p class="hint">${counted(left, 'earlier line')}: the result will have all of them.</p>`
      : '';
  const end = live?.isFull ? html`<p class="hint">The log is long: the result will have the rest.</p>` : '';
  const newest = lines.at(-1);
  const title = html`<h3>Log so far</h3> <span class="small soft">${counted(lines.length, 'line')}${newest === undefined ? '' : html`, the newest ${ago(newest.time, now)}`}</span>`;
  return html`<div class="live-log">${earlier}${logPart(lines.slice(-shownLiveLines), `live-${id}-${attempt}`, { isLive: true, title })}${end}</div>`;
}

function isBad({ hasFailures, hasErrors }: CheckResult): boolean {
  return hasFailures || hasErrors;
}

function stagesOf(run: RunRow, last: CheckResult | undefined, now: number): Stage[] {
  const { state, created, first_leased_at: leasedAt, ended } = run;
  const isOver = ended !== null;
  const wait = duration(Math.max(0, now - created));
  const isWaiting = leasedAt === null && !isOver;
  return [
    {
      word: html`Queued ${instant(created)}${isWaiting ? html` <span class="soft">for ${wait}</span>` : ''}`,
      state: state === 'queued' && leasedAt === null ? 'now' : 'done',
    },
    {
      word:
        leasedAt === null ? 'Claimed' : html`Claimed${byAgent(run, isFirstClaim(run))} ${instant(leasedAt)}`,
      state: leasedAt === null ? 'open' : 'done',
    },
    runningStage(run, now),
    isOver ? endStage(run, last) : { word: 'Finished', state: 'open' },
  ];
}

/** The ledger has the instant of the first claim, and the agent of the last one. */
function isFirstClaim({ attempt, deaths }: RunRow): boolean {
  return attempt === 0 && deaths === 0;
}

function byAgent({ agent_id: agent }: RunRow, isShown: boolean): Content {
  return isShown && agent !== null ? html` by <code>${visible(shortened(agent, 64))}</code>` : '';
}

function runningStage(run: RunRow, now: number): Stage {
  const { state, attempt, first_leased_at: leasedAt, ready_at: readyAt, ended } = run;
  if (leasedAt === null) return { word: 'Running', state: 'open' };
  const number = attempt > 0 ? `, attempt ${attempt + 1}` : '';
  const time = duration(Math.max(0, (ended ?? now) - leasedAt));
  const agent = byAgent(run, !isFirstClaim(run));
  if (ended !== null) return { word: `Ran for ${time}${number}`, state: 'done' };
  if (state === 'leased') return { word: html`Running for ${time}${number}${agent}`, state: 'now' };
  const inMs = readyAt - now;
  return {
    word: `Waiting for attempt ${attempt + 1}${inMs > 0 ? `, in ${duration(inMs)}` : ''}`,
    state: 'now',
  };
}

function endStage(run: RunRow, last: CheckResult | undefined): Stage {
  if (run.state === 'cancelled') return { word: 'Cancelled', state: 'missed' };
  const why = whyUnmeasured(run);
  if (why !== null) return { word: html`Not measured: ${why}`, state: 'missed' };
  if (last === undefined) return { word: 'Finished', state: 'done' };
  return { word: verdictOf(last).word, state: isBad(last) ? 'bad' : 'done' };
}

const signs: Readonly<Record<StageState, string>> = { done: '✓', now: '•', open: '', bad: '✕', missed: '–' };

function stageItem({ word, state }: Stage): Html {
  return html`<li class="is-${state}"${state === 'now' ? html` aria-current="step"` : ''}><span class="sign" aria-hidden="true">${signs[state]}</span><span>${word}</span></li>`;
}

function attemptOf(
  result: CheckResult,
  { href, isOnly, isOpen }: { readonly href: string; readonly isOnly: boolean; readonly isOpen: boolean },
): Html {
  const { state, word, sentence } = verdictOf(result);
  const log = summaryOfResult(result)?.log ?? [];
  const head = html`<p>${stateBadge(state, isOnly ? word : `Attempt ${result.attempts + 1}: ${word}`)} <a href="${href}">${visible(shortened(sentence, 200))}</a></p>`;
  if (log.length === 0) return html`${head}<p class="hint">This attempt has no log.</p>`;
  return html`${head}<details${isOpen ? html` open` : ''}><summary>Log</summary>${logPart(log, `log-${result.id}`)}</details>`;
}

/** Returns the path to a result on its own page. */
export function runHref({ checkId, id }: CheckResult): string {
  return path`/checks/${checkId}/runs/${id}`;
}
