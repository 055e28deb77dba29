import { durationText } from '@picket/lib/figures/duration.ts';
import { checkRoutes } from '@picket/protocol/checks/check.ts';
import { type CheckState, checkStates } from '@picket/protocol/checks/check-state.ts';
import { checkResultRoutes } from '@picket/protocol/results/check-result.ts';
import { ApiError } from './api-error.ts';
import type { Run } from './command.ts';
import { findCheck } from './find-check.ts';
import { durationMs, printable, table } from './text.ts';

const dayMs = 86_400_000;
const resultsAtMost = 50;

/** `picket checks` */
export const listChecks: Run = async (api, _given, { tag, search }) => {
  const query = typeof search === 'string' ? { search } : {};
  const tags = Array.isArray(tag) ? tag : [];
  const all = await api.all(checkRoutes.listChecks, query);
  const checks = tags.length === 0 ? all : all.filter((one) => tags.some((name) => one.tags.includes(name)));
  const rows = checks.map((check) => ({
    id: check.id,
    name: check.name,
    checkType: check.checkType,
    activated: check.activated,
    state: check.state,
  }));
  const lines = (width: number) =>
    rows.length === 0
      ? [all.length === 0 ? 'There are no checks.' : 'No check matches.']
      : table(
          ['STATE', 'TYPE', 'NAME', 'ID'],
          rows.map((one) => [wordOf(one.state), one.checkType, one.name, one.id]),
          width,
        );
  return { json: rows, lines };
};

/** `picket status` */
export const showStatus: Run = async (api) => {
  const checks = await api.all(checkRoutes.listChecks);
  const states = checks.map(({ id, name, state }) => ({ id, name, state }));
  const counts = Object.fromEntries(
    checkStates.map((state) => [state, states.filter((one) => one.state === state).length]),
  );
  const shown = checkStates
    .filter((state) => !['passing', 'pending', 'paused'].includes(state))
    .flatMap((state) => states.filter((one) => one.state === state));
  const lines = (width: number) => [
    checks.length === 0
      ? 'There are no checks.'
      : `${checks.length} checks: ${checkStates.flatMap((state) => (counts[state] ? [`${counts[state]} ${wordOf(state)}`] : [])).join(', ')}.`,
    ...(shown.length === 0
      ? []
      : [
          '',
          ...table(
            ['STATE', 'NAME', 'ID'],
            shown.map((one) => [wordOf(one.state), one.name, one.id]),
            width,
          ),
        ]),
  ];
  return { json: { counts, checks: states }, lines };
};

/** `picket logs CHECK` */
export const showLogs: Run = async (api, [named = ''], { since, location, failures }) => {
  const lengthMs = since === undefined ? dayMs : durationMs(String(since));
  if (lengthMs === undefined) throw new ApiError('--since needs a period: 30m, 24h, 7d.', true);
  const { id, name } = await findCheck(api, named);
  const { entries } = await api.call(checkResultRoutes.listCheckResultsByCursor, {
    params: { checkId: id },
    query: {
      from: new Date(Date.now() - lengthMs).toISOString(),
      // The service's clock may be ahead.
      to: new Date(Date.now() + dayMs).toISOString(),
      limit: resultsAtMost,
      ...(typeof location === 'string' ? { location } : {}),
      ...(failures === true ? { hasFailures: 'true' } : {}),
    },
  });
  const rows = entries.map((result) => [
    result.startedAt ?? result.scheduledAt,
    result.hasFailures
      ? 'failed'
      : result.hasErrors
        ? 'not judged'
        : result.isDegraded
          ? 'degraded'
          : 'passed',
    result.runLocation,
    durationText(result.responseTime),
    result.failure === null ? '' : `${result.failure.sentence} (${result.failure.whatFailed})`,
  ]);
  const leftOutCount = entries.filter(({ isDetailLeftOut }) => isDetailLeftOut).length;
  const leftOut =
    leftOutCount === 0
      ? []
      : [
          '',
          `The details of ${leftOutCount} of these runs were not stored: DETAIL_OF_EVERY_NTH_PASS of the service samples passed runs.`,
        ];
  const lines = (width: number) =>
    rows.length === 0
      ? [`${printable(name)}: no runs in that period.`]
      : [...table(['STARTED', 'RESULT', 'LOCATION', 'TIME', 'WHY'], rows, width), ...leftOut];
  return { json: { checkId: id, results: entries }, lines };
};

const wordOf = (state: CheckState) => state.replace('-', ' ');
