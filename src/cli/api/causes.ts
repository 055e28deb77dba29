import { counted } from '@picket/lib/figures/count.ts';
import { type AlertCause, alertCauseRoutes } from '@picket/protocol/alerts/alert-cause.ts';
import { alertHandlingRoutes, type OpenAlert } from '@picket/protocol/alerts/alert-handling.ts';
import { errorGroupRoutes } from '@picket/protocol/results/error-group.ts';
import {
  type RootCauseAnalysis,
  rootCauseAnalysisRoutes,
} from '@picket/protocol/results/root-cause-analysis.ts';
import { ApiError } from './api-error.ts';
import type { Run } from './command.ts';
import { findCheck } from './find-check.ts';
import { agoText, knownBy, printable, table } from './text.ts';

/** `picket causes` */
export const showCauses: Run = async (api) => {
  const open = await api.all(alertCauseRoutes.listAlertCauses, { isOpen: 'true' });
  const alerts = await api.all(alertHandlingRoutes.listOpenAlerts);
  const byCheck = new Map(alerts.map((alert) => [alert.checkId, alert]));
  const causes = open.filter(({ memberCount }) => memberCount > 1);
  const joined = new Set(causes.flatMap(({ members }) => members.map(({ checkId }) => checkId)));
  const alone = alerts.filter(({ checkId }) => !joined.has(checkId));
  const now = Date.now();
  const lines = (width: number) => {
    const parts = causes.map((cause) => [
      `${cause.kind} ${printable(cause.evidence)}, ${agoText(cause.startedAt, now)}: ${printable(cause.reason)}`,
      ...table(titles, membersOf(cause, byCheck, now), width),
    ]);
    if (alone.length > 0) {
      const rows = alone.map((one) => row(one, one.since, one, now));
      parts.push(['Separate causes', ...table(titles, rows, width)]);
    }
    if (parts.length === 0) return ['No check is failing or degraded.'];
    return parts.flatMap((part, index) => (index === 0 ? part : ['', ...part]));
  };
  return { json: { causes, alone }, lines };
};

const titles = ['STATE', 'SINCE', 'NOTIFIED', 'CHECK', 'ID'];

function membersOf(cause: AlertCause, byCheck: ReadonlyMap<string, OpenAlert>, now: number): string[][] {
  return cause.members.map((member) => {
    const alert = member.recoveredAt === null ? byCheck.get(member.checkId) : undefined;
    return row({ checkId: member.checkId, name: member.checkName }, member.since, alert, now);
  });
}

function row(
  { checkId, name }: { readonly checkId: string; readonly name: string },
  since: string | null,
  alert: OpenAlert | undefined,
  now: number,
): string[] {
  const state = !alert ? 'recovered' : alert.isFlapping ? 'FLAPPING' : alert.state;
  return [state, since === null ? '' : agoText(since, now), alert ? knownBy(alert) : '', name, checkId];
}

const shownGroups = 5;

/** `picket why CHECK` */
export const showRootCauses: Run = async (api, [named = '']) => {
  const { id, name } = await findCheck(api, named);
  const groups = await api.call(errorGroupRoutes.listErrorGroupsOfCheck, {
    params: { checkId: id },
    query: { limit: shownGroups },
  });
  const now = Date.now();
  const lines = () => {
    if (groups.length === 0) return [`${printable(name)} has no errors.`];
    // Errors of one run share a cause.
    const byCause = Map.groupBy(groups, ({ id, rootCauseAnalyses: [one] }) => one?.analysis.rootCause ?? id);
    return [...byCause.values()].flatMap((joined, index) => [
      ...(index === 0 ? [] : ['']),
      ...joined.map(
        ({ cleanedErrorMessage, count, lastSeen }) =>
          `${printable(cleanedErrorMessage)} (${runsText(count)}, last ${agoText(lastSeen, now)} ago)`,
      ),
      ...causeLines(joined[0]?.rootCauseAnalyses[0]),
    ]);
  };
  return { json: groups, lines };
};

/** Describes how many runs failed because of an error. */
function runsText(count: number): string {
  return count === 0 ? 'no run failed because of it: retries passed' : counted(count, 'run');
}

function causeLines(one: RootCauseAnalysis | undefined): string[] {
  if (!one) return ['  It has not been analysed yet.'];
  const { analysis, id, verdict } = one;
  return [
    `  ${printable(analysis.rootCause)}`,
    `  Impact: ${printable(analysis.userImpact)}`,
    ...(analysis.codeFix === null ? [] : [`  Next: ${printable(analysis.codeFix)}`]),
    ...(analysis.kind === null ? [] : [`  Kind: ${printable(analysis.kind)}`]),
    ...analysis.evidence.map(({ description }) => `  - ${printable(description)}`),
    ...modelLines(one),
    `  Analysis ${id}${verdict === null ? '' : `, said to be ${verdict.toLowerCase()}`}`,
  ];
}

function modelLines({ fromModel, analysis }: RootCauseAnalysis): string[] {
  if (!fromModel || analysis.certainty !== 'OPEN') return [];
  const { model, causes, problem } = fromModel;
  const title = `  Possible causes, from a model (${printable(model)}):`;
  if (problem !== null) return [title, `    ${printable(problem)}`];
  if (causes.length === 0) return [title, '    The evidence supports no cause.'];
  return [
    title,
    ...causes.flatMap(({ cause, next, statements }, index) => [
      `    ${index + 1}. ${printable(cause)}`,
      ...statements.map(
        ({ text, evidence }) => `       - ${printable(text)} (${evidence.map(({ id }) => id).join(', ')})`,
      ),
      `       ${printable(next)}`,
    ]),
  ];
}

/** `picket judge ID right|wrong` */
export const judgeRootCause: Run = async (api, [id = '', said = '']) => {
  const verdict = said.toUpperCase();
  if (verdict !== 'RIGHT' && verdict !== 'WRONG') throw new ApiError('Say right or wrong.', true);
  const one = await api.call(rootCauseAnalysisRoutes.updateRootCauseAnalysis, {
    params: { id },
    body: { verdict },
  });
  return { json: one, lines: () => [`Noted: ${said.toLowerCase()}.`] };
};
