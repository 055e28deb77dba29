import { randomBytes, randomUUID } from 'node:crypto';
import { AppError } from '@picket/lib/errors.ts';
import {
  type AnyHandler,
  type Call,
  type HandlerDeps,
  handlersById,
} from '@picket/platform/feature/handler.ts';
import { mayRun } from '@picket/platform/http/auth.ts';
import type { AccountCaller } from '@picket/platform/ids/callers.ts';
import { triggerRoutes } from '@picket/protocol/sessions/trigger.ts';
import type { Ledger } from '../../runs/ledger.ts';
import { waitUntilDone } from '../completion.ts';
import { Sessions } from '../sessions.ts';
import { sessionState } from '../stored/session-state.ts';
import type { CheckSessionRow, TriggerRow } from '../stored/tables.ts';

const maxCallsPerMinute = 10;
const minuteMs = 60_000;
/** How long a call waits for its runs: as long as a run may wait in the queue, plus its duration. */
const maxWaitMs = 10 * minuteMs;

type Target = Pick<TriggerRow, 'account_id' | 'kind' | 'target_id'>;

/** Routes of triggers: deprecated URLs that run a check, or the checks of a group, and wait for the outcome. */
export function triggerHandlers(deps: HandlerDeps & { readonly ledger: Ledger }): [string, AnyHandler][] {
  const { store, clock } = deps;
  const sessions = new Sessions(deps);
  const checkTarget = async (accountId: string, checkId: string): Promise<Target> => {
    if (!(await store.checks.find(accountId, checkId))) {
      throw new AppError('NOT_FOUND', `There is no check ${checkId}.`);
    }
    return { account_id: accountId, kind: 'check', target_id: checkId };
  };
  const groupTarget = async (accountId: string, groupId: number): Promise<Target> => {
    if (!(await store.groups.find(accountId, groupId))) {
      throw new AppError('NOT_FOUND', `There is no check group ${groupId}.`);
    }
    return { account_id: accountId, kind: 'group', target_id: String(groupId) };
  };
  const find = async (target: Target): Promise<TriggerRow> => {
    const row = await store.triggers.find(target);
    if (!row) throw new AppError('NOT_FOUND', 'It has no trigger.');
    return row;
  };
  const put = (target: Target): Promise<TriggerRow> => {
    const now = clock.wallMs();
    return store.triggers.put(
      {
        id: randomUUID(),
        ...target,
        token: randomBytes(24).toString('base64url'),
        created: now,
        called: null,
        updated: null,
      },
      now,
    );
  };
  const remove = async (target: Target): Promise<void> => {
    if (!(await store.triggers.delete(target))) throw new AppError('NOT_FOUND', 'It has no trigger.');
  };
  const checkView = (row: TriggerRow, caller: AccountCaller) => ({
    ...view(row, deps.publicUrl, mayRun(caller)),
    checkId: row.target_id,
  });
  const groupView = (row: TriggerRow, caller: AccountCaller) => ({
    ...view(row, deps.publicUrl, mayRun(caller)),
    groupId: Number(row.target_id),
  });
  const call = async (
    token: string,
    { request, reply }: Pick<Call, 'request' | 'reply'>,
    of?: Pick<TriggerRow, 'kind' | 'target_id'>,
  ) => {
    const trigger = await store.triggers.findByToken(token);
    const isOther = of && (trigger?.kind !== of.kind || trigger.target_id !== of.target_id);
    if (!trigger || isOther) throw new AppError('NOT_FOUND', 'This trigger does not exist.');
    const now = clock.wallMs();
    const calls = await store.checkSessions.callsSince(trigger.id, now - minuteMs);
    if (calls.length >= maxCallsPerMinute) {
      const waitMs = (calls.at(-maxCallsPerMinute) ?? now) + minuteMs - now;
      reply.header('retry-after', String(Math.max(1, Math.ceil(waitMs / 1000))));
      throw new AppError('RATE_LIMITED', `A trigger can be called ${maxCallsPerMinute} times a minute.`, {
        attributes: {},
      });
    }
    const target =
      trigger.kind === 'check' ? { checkIds: [trigger.target_id] } : { groupId: Number(trigger.target_id) };
    const started = await sessions.startChecks(trigger.account_id, target, {
      runSource: 'LEGACY_TRIGGER',
      triggerId: trigger.id,
    });
    await store.triggers.recordCall(trigger.id, now);
    const outcome = await waitUntilDone(() => outcomeOf(deps, started), {
      clock,
      maxWaitMs,
      stop: AbortSignal.any([deps.ledger.draining, request.signal]),
    });
    if (outcome.hasFailures) await reply.code(503).send(outcome);
    return outcome;
  };
  return handlersById(triggerRoutes, {
    async getCheckTrigger({ caller, params }) {
      return checkView(await find(await checkTarget(caller.accountId, params.checkId)), caller);
    },
    async createCheckTrigger({ caller, params }) {
      return checkView(await put(await checkTarget(caller.accountId, params.checkId)), caller);
    },
    async deleteCheckTrigger({ caller, params }) {
      await remove(await checkTarget(caller.accountId, params.checkId));
    },
    async getCheckGroupTrigger({ caller, params }) {
      return groupView(await find(await groupTarget(caller.accountId, params.groupId)), caller);
    },
    async createCheckGroupTrigger({ caller, params }) {
      return groupView(await put(await groupTarget(caller.accountId, params.groupId)), caller);
    },
    async deleteCheckGroupTrigger({ caller, params }) {
      await remove(await groupTarget(caller.accountId, params.groupId));
    },
    callTrigger: ({ params, request, reply }) => call(params.token, { request, reply }),
    callCheckTrigger: ({ params, request, reply }) =>
      call(params.token, { request, reply }, { kind: 'check', target_id: params.checkId }),
    callCheckGroupTrigger: ({ params, request, reply }) =>
      call(params.token, { request, reply }, { kind: 'group', target_id: String(params.groupId) }),
  });
}

/**
 * Whether all sessions have ended, and their outcome. A run that was cancelled or that no agent took has not passed.
 */
async function outcomeOf({ store }: HandlerDeps, sessions: readonly CheckSessionRow[]) {
  const runs = Map.groupBy(
    await store.checkSessions.runs(sessions.map(({ id }) => id)),
    (run) => run.check_session_id,
  );
  let isDone = true;
  let hasFailures = false;
  let responseTime = 0;
  for (const session of sessions) {
    const results = await store.checkSessions.results(session);
    const { status, isFinal } = sessionState(runs.get(session.id) ?? [], results);
    if (!isFinal) isDone = false;
    if (status !== 'PASSED' && status !== 'DEGRADED') hasFailures = true;
    responseTime = Math.max(responseTime, ...results.map((row) => row.response_time));
  }
  return { isDone, value: { hasFailures, responseTime } };
}

/** @param isTokenShown the token alone allows running checks: keys without that permission see "" instead. */
function view(row: TriggerRow, publicUrl: string | undefined, isTokenShown: boolean) {
  const iso = (at: number | null) => (at === null ? null : new Date(at).toISOString());
  return {
    id: numberOf(row.id),
    token: isTokenShown ? row.token : '',
    url: isTokenShown ? `${publicUrl?.replace(/\/+$/, '') ?? ''}/v1/triggers/run/${row.token}` : '',
    created_at: new Date(row.created).toISOString(),
    called_at: iso(row.called),
    updated_at: iso(row.updated),
  };
}

/**
 * Numeric id of a trigger, as clients expect it: the first 48 bits of its id. They address triggers by their target.
 */
function numberOf(id: string): number {
  return Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16);
}
