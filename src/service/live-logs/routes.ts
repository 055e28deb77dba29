import { findCheckType } from '@picket/checks/index.ts';
import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { type AnyHandler, type HandlerDeps, handlersById } from '@picket/platform/feature/handler.ts';
import type { LocationCaller } from '@picket/platform/ids/callers.ts';
import { storedJson } from '@picket/platform/store/stored-json.ts';
import { LiveLine, type LiveLines, liveLogRoutes } from '@picket/protocol/agent/live-log.ts';
import { followedLogRoutes, type LiveLog } from '@picket/protocol/sessions/live-log.ts';
import { z } from 'zod';
import type { RunRow } from '../runs/tables.ts';
import { noSession } from '../sessions/sessions.ts';
import type { FollowableRun, FollowedRuns } from './followed-runs.ts';
import type { LiveLogRow } from './tables.ts';

/** Size limit of the kept lines of a run, in bytes. An agent stops far below it. */
const maxRunBytes = 2 * 1024 * 1024;

const linesOf = storedJson(
  'live_log_lines.lines',
  lazySchema(() => z.array(LiveLine.schema)),
);

interface LiveLogDeps extends HandlerDeps {
  readonly followedRuns: FollowedRuns;
}

/** Handlers of agents that send lines, and of callers that read them. */
export function liveLogHandlers(deps: LiveLogDeps): [string, AnyHandler][] {
  const { store, clock, followedRuns } = deps;
  const agentHandlers = handlersById(liveLogRoutes, {
    async sendLiveLog({ caller, body }) {
      // Lines of runs without a reader are dropped, and the agent stops sending them.
      const followed = new Set(followedRuns.among(body.runs.map(({ runId }) => runId)));
      const sent = body.runs.filter(({ runId }) => followed.has(runId));
      const kept = await keep(deps, caller, body, sent);
      return { serverTime: clock.wallMs(), followedRunIds: [...kept] };
    },
  });
  const readerHandlers = handlersById(followedLogRoutes, {
    async getCheckSessionLiveLog({ caller: { accountId }, params: { id } }) {
      if (!(await store.checkSessions.find(accountId, id))) throw noSession({ kind: 'check_session_id', id });
      return liveLog(deps, accountId, await store.checkSessions.runs([id]));
    },
    async getTestSessionLiveLog({ caller: { accountId }, params: { id } }) {
      if (!(await store.testSessions.find(accountId, id))) throw noSession({ kind: 'test_session_id', id });
      return liveLog(deps, accountId, await store.testSessions.runs(id));
    },
  });
  return [...agentHandlers, ...readerHandlers];
}

/** Stores lines of runs that the agent has; returns the runs whose next lines it may send. */
async function keep(
  { store, clock }: LiveLogDeps,
  location: LocationCaller,
  agent: { readonly agentId: string; readonly sessionId: string },
  sent: readonly LiveLines[],
): Promise<ReadonlySet<string>> {
  if (sent.length === 0) return new Set();
  const { agentId, sessionId } = agent;
  const held = await store.liveLogs.held({ locationId: location.id, agentId, sessionId }, sent);
  const sizes = await store.liveLogs.sizes([...held]);
  const kept = new Set<string>();
  const rows: LiveLogRow[] = [];
  for (const { runId, leaseNumber, firstLine, lines, isFull } of sent) {
    if (!held.has(runId) || kept.has(runId)) continue;
    kept.add(runId);
    const text = JSON.stringify(lines);
    const sizeBytes = Buffer.byteLength(text);
    // Lines that are left out count, too: no later ones may follow the gap.
    const isTooLarge = (sizes.get(runId) ?? 0) + sizeBytes > maxRunBytes;
    rows.push({
      run_id: runId,
      lease_number: leaseNumber,
      first_line: firstLine,
      account_id: location.account_id,
      size_bytes: sizeBytes,
      is_full: isFull || isTooLarge ? 1 : 0,
      lines: isTooLarge ? '[]' : text,
      created: clock.wallMs(),
    });
  }
  await store.liveLogs.insert(rows);
  return kept;
}

/** The logs of the runs that an agent has. A caller follows them for the next seconds. */
async function liveLog(
  { store, followedRuns }: LiveLogDeps,
  accountId: string,
  runs: readonly RunRow[],
): Promise<z.input<typeof followedLogRoutes.getCheckSessionLiveLog.response>> {
  // A run in the queue is followed from its claim on.
  const open = runs.filter(({ state }) => state === 'leased' || state === 'queued');
  const followed = followedRuns.follow(
    accountId,
    open.filter(({ check_type: type }) => findCheckType(type)?.hasLiveLog).map(followable),
  );
  const running = open.filter(({ state }) => state === 'leased');
  const kept = await store.liveLogs.ofLeases(
    accountId,
    running.map(({ id, lease_number: leaseNumber }) => ({ runId: id, leaseNumber })),
  );
  const byRun = Map.groupBy(kept, ({ run_id: id }) => id);
  return { runs: running.map((run) => logOf(run, byRun.get(run.id) ?? [], followed.has(run.id))) };
}

function followable({ id, state, location_id: locationId, session_id: sessionId }: RunRow): FollowableRun {
  const isHeld = state === 'leased' && locationId !== null && sessionId !== null;
  return isHeld ? { id, holder: { locationId, sessionId } } : { id };
}

function logOf(run: RunRow, kept: readonly LiveLogRow[], isFollowed: boolean): LiveLog['runs'][number] {
  return {
    sequenceId: run.sequence_id,
    checkId: run.check_id,
    checkType: run.check_type as LiveLog['runs'][number]['checkType'],
    runLocation: run.location,
    attempt: run.attempt,
    isFollowed,
    isFull: kept.some(({ is_full: isFull }) => isFull === 1),
    lines: kept.flatMap(({ lines }) => linesOf(lines)),
  };
}
