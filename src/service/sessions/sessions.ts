import { randomUUID } from 'node:crypto';
import type { Clock } from '@picket/lib/clock.ts';
import { AppError } from '@picket/lib/errors.ts';
import type { AccountCaller } from '@picket/platform/ids/callers.ts';
import { cancelledSignals, queuedSignals, testedSignals } from '@picket/platform/store/engine/signals.ts';
import type { Repositories } from '@picket/platform/store/repositories.ts';
import type { Store } from '@picket/platform/store/store.ts';
import { refuseMovedBySession } from '../checks/addresses/address-values.ts';
import { type EffectiveCheck, withGroup } from '../checks/effective-check.ts';
import { RunNumbers } from '../runs/due-runs.ts';
import { sessionVariables } from '../runs/session-variables.ts';
import type { RunRow } from '../runs/tables.ts';
import { type AgentsNow, agentsNow, locationsNow, withUnableEnded } from './able-agents.ts';
import { queueAlone, requestedRun } from './session-runs.ts';
import { fromRow } from './stored/definition-store.ts';
import type { CheckSessionRow, TestDefinitionRow, TestSessionRow } from './stored/tables.ts';
import { matchingChecks, type SessionTarget } from './target.ts';

/** Parameters of a test session, besides the checks. */
export type TestSessionPlan = Omit<TestSessionRow, 'id' | 'account_id' | 'started' | 'cancelled' | 'failed'>;

/**
 * On-demand runs. They use the ledger like scheduled runs, and a session groups them and derives its progress from
 * them.
 */
export class Sessions {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #numbers = new RunNumbers();

  constructor(options: { readonly store: Store; readonly clock: Clock }) {
    this.#store = options.store;
    this.#clock = options.clock;
  }

  /**
   * Runs checks now, each in a session of its own. Their results count like those of the schedule.
   *
   * @throws AppError NOT_FOUND if the target matches no check, CANNOT_RUN_NOW if no agent can run any.
   */
  async startChecks(
    accountId: string,
    target: Omit<SessionTarget, 'needsLocation'>,
    origin: { readonly runSource: string; readonly triggerId?: string | undefined },
  ): Promise<CheckSessionRow[]> {
    const { sessions, runs } = await this.#store.transaction(async (repositories) => {
      const now = this.#clock.wallMs();
      const checks = await matchingChecks(repositories, accountId, { ...target, needsLocation: true });
      const agents = await agentsNow(repositories, accountId, now);
      const made = checks.map((check) => {
        const session: CheckSessionRow = {
          id: randomUUID(),
          account_id: accountId,
          check_id: check.id,
          run_source: origin.runSource,
          trigger_id: origin.triggerId ?? null,
          started: now,
          cancelled: null,
        };
        const numbers = this.#numbers;
        const { ids } = agents;
        const runs = locationsNow(check, agents).map((location) =>
          requestedRun(check, { location, ids, now, numbers, session: { check_session_id: session.id } }),
        );
        return { session, runs };
      });
      const asked = withUnableEnded(
        made.flatMap(({ runs }) => runs),
        agents,
        now,
      );
      await repositories.checkSessions.insert(made.map(({ session }) => session));
      return {
        sessions: made.map(({ session }) => session),
        runs: await queueAlone(repositories, checks, asked),
      };
    });
    this.#store.signals.send(queuedSignals(waiting(runs)));
    return sessions;
  }

  /**
   * Test-runs checks at one location. Their results count nowhere: no status, no alert, no analytics.
   *
   * @throws AppError NOT_FOUND if the target matches no check, CANNOT_RUN_NOW if no agent can run any, ADMIN_ONLY
   *   if the session's variables would send hidden values elsewhere.
   */
  async startTest(
    caller: AccountCaller,
    target: Omit<SessionTarget, 'needsLocation'>,
    plan: TestSessionPlan,
  ): Promise<{ readonly session: TestSessionRow; readonly runs: readonly RunRow[] }> {
    const { accountId } = caller;
    const started = await this.#store.transaction(async (repositories) => {
      const now = this.#clock.wallMs();
      const checks = await matchingChecks(repositories, accountId, { ...target, needsLocation: false });
      await refuseMovedBySession(repositories, caller, checks, sessionVariables(plan.environment_variables));
      const agents = await agentsNow(repositories, accountId, now);
      const session = newTestSession(accountId, plan, now);
      await repositories.testSessions.insert(session);
      return { session, runs: await this.#queueTest(repositories, { session, checks, agents, now }) };
    });
    this.#store.signals.send([...queuedSignals(waiting(started.runs)), ...testedSignals(started.runs)]);
    return started;
  }

  /**
   * Test-runs definitions that are not checks, at one location.
   *
   * @throws AppError CANNOT_RUN_NOW if no agent can run any.
   */
  async startDefinitions(
    accountId: string,
    definitions: readonly Omit<TestDefinitionRow, 'test_session_id' | 'created'>[],
    plan: TestSessionPlan,
  ): Promise<{ readonly session: TestSessionRow; readonly runs: readonly RunRow[] }> {
    const started = await this.#store.transaction(async (repositories) => {
      const now = this.#clock.wallMs();
      const agents = await agentsNow(repositories, accountId, now);
      const session = newTestSession(accountId, plan, now);
      await repositories.testSessions.insert(session);
      const rows = definitions.map((row) => ({ ...row, test_session_id: session.id, created: now }));
      await repositories.testDefinitions.insert(rows);
      const checks = rows.map(fromRow).map(({ check, group }) => withGroup(check, group));
      return { session, runs: await this.#queueTest(repositories, { session, checks, agents, now }) };
    });
    this.#store.signals.send([...queuedSignals(waiting(started.runs)), ...testedSignals(started.runs)]);
    return started;
  }

  async #queueTest(
    repositories: Pick<Repositories, 'runs' | 'testSessions'>,
    given: {
      readonly session: TestSessionRow;
      readonly checks: readonly EffectiveCheck[];
      readonly agents: AgentsNow;
      readonly now: number;
    },
  ): Promise<RunRow[]> {
    const { session, checks, agents, now } = given;
    const at = { location: session.run_location, ids: agents.ids, now, numbers: this.#numbers };
    const asked = checks.map((check) =>
      requestedRun(check, { ...at, session: { test_session_id: session.id } }),
    );
    const runs = withUnableEnded(asked, agents, now);
    if (runs.some(({ state }) => state === 'missed'))
      await repositories.testSessions.recordFailed([session.id]);
    return queueAlone(repositories, checks, runs);
  }

  /**
   * Cancels the unfinished runs of a session, all or those of the given sequences: queued runs are never leased, and
   * agents stop leased ones.
   *
   * @throws AppError NOT_FOUND if the account has no such session.
   */
  async cancel(
    accountId: string,
    session: { readonly kind: 'check_session_id' | 'test_session_id'; readonly id: string },
    sequenceIds: readonly string[] | undefined,
  ): Promise<void> {
    const cancelled = await this.#store.transaction(async (repositories): Promise<RunRow[]> => {
      const sessions =
        session.kind === 'check_session_id' ? repositories.checkSessions : repositories.testSessions;
      if (!(await sessions.find(accountId, session.id))) throw noSession(session);
      const now = this.#clock.wallMs();
      const runs = await repositories.runs.cancelSession(session, sequenceIds, now);
      if (runs.length > 0) await sessions.recordCancelled(session.id, now);
      return runs;
    });
    this.#store.signals.send([...cancelledSignals(cancelled), ...testedSignals(cancelled)]);
  }
}

/** Runs that an agent can take: the others have already ended. */
function waiting(runs: readonly RunRow[]): RunRow[] {
  return runs.filter(({ state }) => state === 'queued');
}

function newTestSession(accountId: string, plan: TestSessionPlan, now: number): TestSessionRow {
  return { id: randomUUID(), account_id: accountId, ...plan, started: now, cancelled: null, failed: 0 };
}

/** Error for a session that does not exist. */
export function noSession({
  kind,
  id,
}: {
  readonly kind: 'check_session_id' | 'test_session_id';
  readonly id: string;
}): AppError {
  return new AppError(
    'NOT_FOUND',
    `No such ${kind === 'check_session_id' ? 'check' : 'test'} session: ${id}.`,
  );
}
