import { setTimeout } from 'node:timers/promises';
import { checkRoutes } from '@picket/protocol/checks/check.ts';
import { type CheckSession, checkSessionRoutes } from '@picket/protocol/sessions/check-session.ts';
import { ApiError } from '../api/api-error.ts';
import type { ApiClient } from '../api/client.ts';
import type { Run } from '../api/command.ts';
import { findCheck } from '../api/find-check.ts';
import { showProgress } from '../api/show.ts';
import { printable, table } from '../api/text.ts';
import { RunLogs } from './run-logs.ts';

const pauseMs = 500;
const unfinished: ReadonlySet<string> = new Set([
  'STARTED',
  'PROGRESS',
  'PROGRESS_FAILED',
  'PROGRESS_DEGRADED',
]);

/** `picket trigger CHECK`: runs a check now and waits for its results. */
export const triggerCheck: Run = async (api, [named = ''], { detach, log }) => {
  if (detach === true && log === true) {
    throw new ApiError('--log waits for the runs, and --detach does not: use one of them.', true);
  }
  const check = await findCheck(api, named);
  const { sessions } = await api.call(checkSessionRoutes.triggerCheckSessions, {
    body: { target: { checkId: check.id } },
  });
  const [started] = sessions;
  if (!started) throw new ApiError(`${printable(check.name)} cannot be run now.`);
  if (detach === true) {
    return { json: started, lines: () => [`Started: ${started.checkSessionLink}`] };
  }
  const logs = log === true ? new RunLogs(api, (line) => console.error(line)) : undefined;
  const session = await ended(api, started.checkSessionId, logs);
  return {
    json: session,
    lines: (width) => [
      ...table(
        ['RESULT', 'LOCATION', 'NAME'],
        session.results.filter(isFinal).map((one) => [resultOf(one), one.runLocation, one.name]),
        width,
      ),
      ...new Set(session.results.flatMap(({ message }) => (message === null ? [] : [printable(message)]))),
      '',
      `${session.status}: ${session.checkSessionLink}`,
    ],
    exitCode: ['PASSED', 'DEGRADED'].includes(session.status) ? 0 : 1,
  };
};

async function ended(api: ApiClient, id: string, logs: RunLogs | undefined): Promise<CheckSession> {
  const progress = showProgress();
  try {
    for (;;) {
      const session = await api.call(checkSessionRoutes.getCheckSession, { params: { id } });
      if (logs) {
        progress.end();
        await logs.next(session);
      }
      if (!unfinished.has(session.status)) return session;
      progress.say(`running at ${session.runLocations.join(', ')}`);
      await setTimeout(pauseMs);
    }
  } finally {
    progress.end();
  }
}

const isFinal = ({ resultType }: CheckSession['results'][number]) => resultType === 'FINAL';

function resultOf(result: CheckSession['results'][number]): string {
  if (result.aborted) return 'not run';
  if (result.isCancelled) return 'cancelled';
  if (result.hasFailures) return 'failed';
  if (result.hasErrors) return 'not judged';
  return result.isDegraded ? 'degraded' : 'passed';
}

/** A command that changes one field of a check: `picket pause CHECK`. */
function changing(fields: Readonly<Record<string, boolean>>, outcome: string): Run {
  return async (api, [named = '']) => {
    const { id, name } = await findCheck(api, named);
    const { checkType } = await api.call(checkRoutes.getCheck, { params: { id } });
    await api.call(checkRoutes.updateCheck, { params: { id }, body: { checkType, ...fields } });
    return { json: { checkId: id, name, ...fields }, lines: () => [`${printable(name)} ${outcome}`] };
  };
}

export const pauseCheck = changing({ activated: false }, 'is paused: it does not run until "picket resume".');
export const resumeCheck = changing({ activated: true }, 'runs as scheduled.');
export const muteCheck = changing({ muted: true }, 'is muted: it runs, and sends no notifications.');
export const unmuteCheck = changing({ muted: false }, 'sends notifications.');

/** `picket open CHECK`: the page of a check, of the overview without one. */
export const openPage: Run = async (api, [named]) => {
  const path = named === undefined ? '/' : `/checks/${(await findCheck(api, named)).id}`;
  const url = new URL(path, api.url).href;
  return { json: { url }, lines: () => [url] };
};
