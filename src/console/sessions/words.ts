import type { checkSessionStatusNames } from '@picket/protocol/sessions/check-session.ts';
import { type State, stateBadge } from '../elements/state.ts';
import { type Html, html } from '../html.ts';

type Status = (typeof checkSessionStatusNames)[number] | 'RUNNING';

const statuses: Readonly<Record<Status, readonly [State, string]>> = {
  STARTED: ['waiting', 'Waiting for an agent'],
  PROGRESS: ['waiting', 'Running'],
  RUNNING: ['waiting', 'Running'],
  PROGRESS_FAILED: ['failed', 'Running, failed in part'],
  PROGRESS_DEGRADED: ['degraded', 'Running, degraded in part'],
  PASSED: ['passed', 'Passed'],
  FAILED: ['failed', 'Failed'],
  DEGRADED: ['degraded', 'Degraded'],
  TIMED_OUT: ['missed', 'No agent ran it'],
  CANCELLED: ['off', 'Cancelled'],
};

export function statusBadge(status: Status): Html {
  return stateBadge(...statuses[status]);
}

/** Refreshes a page while its session lasts: stages of runs, and results of test sessions, change no check. */
export function following(here: string): Html {
  return html`<p class="small soft lead" hx-get="${here}" hx-trigger="every 1s" hx-target="#main" hx-select="#main" hx-swap="outerMorph">This page updates automatically. <a href="${here}">Reload</a></p>`;
}

/** Shows the outcome of one run of a session. */
export function resultBadge(result: {
  readonly resultType: 'FINAL' | 'ATTEMPT' | 'PENDING';
  readonly hasErrors: boolean;
  readonly hasFailures: boolean;
  readonly isDegraded: boolean | null;
  readonly aborted: boolean;
  readonly isCancelled: boolean;
}): Html {
  if (result.isCancelled) return stateBadge('off', 'Cancelled');
  if (result.aborted) return stateBadge('missed', 'No agent ran it');
  if (result.resultType === 'PENDING') return stateBadge('waiting', 'In progress');
  const word = (verdict: string) => (result.resultType === 'ATTEMPT' ? `${verdict}, retrying` : verdict);
  if (result.hasErrors) return stateBadge('error', word('Not judged'));
  if (result.hasFailures) return stateBadge('failed', word('Failed'));
  return result.isDegraded ? stateBadge('degraded', word('Degraded')) : stateBadge('passed', word('Passed'));
}

/** Number of checks of a test session by their outcome. */
export function outcomeCounts(session: {
  readonly running: readonly unknown[];
  readonly passed: readonly unknown[];
  readonly failed: readonly unknown[];
  readonly cancelled: readonly unknown[];
}): string {
  const parts = [
    [session.running, 'unfinished'],
    [session.passed, 'passed'],
    [session.failed, 'failed'],
    [session.cancelled, 'cancelled'],
  ] as const;
  return parts.flatMap(([ids, word]) => (ids.length > 0 ? [`${ids.length} ${word}`] : [])).join(', ');
}
