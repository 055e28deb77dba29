/**
 * Topics for events of test sessions: `account/{account}/ad-hoc-check-results/{suite}/{sequence}/{run}/{event}`. A
 * suite is the client's name for the runs that it is about to start, so that it can subscribe before any of them
 * begins.
 */
export interface LiveTopic {
  readonly accountId: string;
  readonly suiteId: string;
}

/** Events of a run. */
export type LiveEventName = 'run-start' | 'stream-logs' | 'result' | 'error';

const filter =
  /^account\/([0-9a-f-]{36})\/ad-hoc-check-results\/([0-9a-z-]{1,64})\/(?:#|\+\/#|\+\/\+\/#|\+\/\+\/\+)$/i;

/** Parses the filter of a subscription: all events of one suite. Undefined for any other filter. */
export function readFilter(text: string): LiveTopic | undefined {
  const [, accountId, suiteId] = filter.exec(text) ?? [];
  return accountId === undefined || suiteId === undefined
    ? undefined
    : { accountId: accountId.toLowerCase(), suiteId: suiteId.toLowerCase() };
}

export function topicOf(
  { accountId, suiteId }: LiveTopic,
  run: { readonly sequenceId: string; readonly runId: string },
  event: LiveEventName,
): string {
  return `account/${accountId}/ad-hoc-check-results/${suiteId}/${run.sequenceId}/${run.runId}/${event}`;
}
