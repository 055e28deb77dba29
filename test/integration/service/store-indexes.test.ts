import type { Kysely } from 'kysely';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { connectSqlite, type Dialect } from '../../../src/platform/store/engine/dialect.ts';
import { allScheduleParts } from '../../../src/platform/store/engine/schedule-parts.ts';
import { migrate } from '../../../src/platform/store/schema/migrate.ts';
import type { Tables } from '../../../src/platform/store/tables.ts';
import { AlertChannels } from '../../../src/service/alerts/channels/store.ts';
import { AlertNotifications } from '../../../src/service/alerts/delivery/store.ts';
import { Alerts } from '../../../src/service/alerts/store.ts';
import { AuditLog } from '../../../src/service/audit/store.ts';
import { CheckTotals } from '../../../src/service/check-metrics/store.ts';
import { Checks } from '../../../src/service/checks/store.ts';
import { SlotDays } from '../../../src/service/coverage/slot-days.ts';
import { Heartbeats } from '../../../src/service/heartbeats/store.ts';
import { LoginSessions } from '../../../src/service/logins/store.ts';
import { Overviews } from '../../../src/service/overviews/store.ts';
import { Artifacts } from '../../../src/service/results/artifacts/store.ts';
import { ResultColumns } from '../../../src/service/results/columns/result-columns.ts';
import { ErrorGroups } from '../../../src/service/results/error-groups/store.ts';
import { Results } from '../../../src/service/results/store.ts';
import { Retired } from '../../../src/service/retention/retention-store.ts';
import { Leases } from '../../../src/service/runs/lease-store.ts';
import { Runs } from '../../../src/service/runs/store.ts';
import { CheckSessions } from '../../../src/service/sessions/stored/check-session-store.ts';
import { TestSessions } from '../../../src/service/sessions/stored/test-session-store.ts';
import { insertWithDefaults, recordStatements } from '../../helpers/service/recorded-statements.ts';
import { temporaryFolder } from '../../helpers/service/service.ts';

let folder: ReturnType<typeof temporaryFolder>;
let db: Kysely<Tables>;
let dialect: Dialect;
const path = () => `${folder.path}/picket.sqlite`;

beforeEach(async () => {
  folder = temporaryFolder();
  const connection = connectSqlite(path(), () => undefined);
  dialect = connection.dialect;
  db = connection.db;
  await migrate(db, dialect);
});
afterEach(async () => {
  await db.destroy();
  folder.remove();
});

it.each<[string, string, (recorded: Kysely<Tables>) => Promise<unknown>]>([
  [
    'cancelling the runs of a check',
    'runs_unfinished',
    (recorded) => new Runs(recorded, dialect).cancelAll('c', 'deleted', 1),
  ],
  [
    'cancelling its queued runs',
    'runs_unfinished',
    (recorded) => new Runs(recorded, dialect).cancelQueued('c', 'x', ['a'], 1),
  ],
  [
    'cancelling the runs of a location',
    'runs_unfinished',
    (recorded) => new Runs(recorded, dialect).cancelAtLocation('l', 'x', 1),
  ],
  [
    'claiming runs',
    'runs_queue',
    (recorded) =>
      new Leases(recorded, dialect).claim({
        locationId: 'l',
        lanes: [
          { lane: 'probe', limit: 10 },
          { lane: 'script', limit: 2 },
        ],
        checkTypes: ['URL'],
        needs: [],
        agentId: 'a',
        sessionId: 's',
        claimNumber: null,
        now: 1,
        leaseUntil: 2,
      }),
  ],
  [
    'ending runs that passed',
    'sqlite_autoindex_runs_1',
    (recorded) => new Leases(recorded, dialect).finish('l', [['r', 1]], 1),
  ],
  [
    'giving back what was leased for a lost claim',
    'runs_lease_end',
    (recorded) =>
      new Leases(recorded, dialect).releaseClaims({ locationId: 'l', agentId: 'a', sessionId: 's' }, [1], 1),
  ],
  [
    'leases that a clock ahead has promised',
    'runs_lease_end',
    (recorded) => new Runs(recorded, dialect).withdrawFutureRuns(1, 2),
  ],
  [
    'queue entries that it has promised',
    'runs_queue_end',
    (recorded) => new Runs(recorded, dialect).withdrawFutureRuns(1, 2),
  ],
  [
    'the oldest slot on its way of a check, to seal up to it',
    'runs_unfinished',
    async (recorded) => {
      // The statement runs only for an existing check.
      insertWithDefaults(path(), 'accounts', { id: 'x' });
      insertWithDefaults(path(), 'checks', { id: 'c' });
      await new SlotDays(recorded, dialect).nextSeal('c', 3_600_000);
    },
  ],
  ['the next deadline', 'runs_lease_end', (recorded) => new Runs(recorded, dialect).nextDeadline()],
  ['the next end of waiting', 'runs_queue_end', (recorded) => new Runs(recorded, dialect).nextDeadline()],
  [
    'the results of one kind',
    'results_by_check',
    (recorded) =>
      new Results(recorded, dialect).list(
        { checkId: 'c', from: 0, to: 9, resultType: 'FINAL' },
        { limit: 10, offset: 0 },
      ),
  ],
  [
    'the next notification',
    'alert_notifications_open',
    (recorded) => new AlertNotifications(recorded, dialect).nextDueAt(),
  ],
  [
    'whether an earlier notification is open',
    'alert_notifications_in_order',
    (recorded) =>
      new AlertNotifications(recorded, dialect).due(1, 10, { channelIds: [1], accountIds: ['a'] }),
  ],
  [
    'the notifications of a channel in the last minute',
    'alert_notifications_by_channel',
    (recorded) => new AlertNotifications(recorded, dialect).triedSince(1, 1, 2),
  ],
  [
    'alerts that time alone makes',
    'alert_states_due',
    (recorded) => new Alerts(recorded, dialect).nextDueAt(),
  ],
  [
    'certificates that expire',
    'statuses_by_certificate',
    (recorded) => new Alerts(recorded, dialect).expiring(9, { checkId: '', expiresAt: 1 }, 10),
  ],
  [
    'the channels of a check',
    'alert_subscriptions_by_check',
    (recorded) => new AlertChannels(recorded, dialect).notifiedOfCheck('c', null),
  ],
  [
    'the runs of a check session',
    'runs_by_check_session',
    (recorded) => new CheckSessions(recorded, dialect).runs(['s']),
  ],
  [
    'the runs of a test session',
    'runs_by_test_session',
    (recorded) => new TestSessions(recorded, dialect).find('a', 's'),
  ],
  [
    'cancelling a session',
    'runs_by_check_session',
    (recorded) =>
      new Runs(recorded, dialect).cancelSession({ kind: 'check_session_id', id: 's' }, undefined, 1),
  ],
  [
    'the newest slots of the checks on a page',
    'runs_of_schedule',
    (recorded) => new Overviews(recorded, dialect).recentSlots(['c', 'd'], 30, 0),
  ],
  [
    'the session of a cookie',
    'sqlite_autoindex_login_sessions_2',
    (recorded) => new LoginSessions(recorded, dialect).find('session', 'h', 1),
  ],
  [
    'what was changed in an account',
    'audit_log_by_account',
    (recorded) => new AuditLog(recorded, dialect).list({ accountId: 'a' }, 50, { created: 1, id: 'i' }),
  ],
  [
    'what was changed of a resource',
    'audit_log_by_resource',
    (recorded) => new AuditLog(recorded, dialect).list({ accountId: 'a', resource: 'checks/c' }, 50),
  ],
  [
    'old entries of the audit log',
    'audit_log_by_age',
    (recorded) => new AuditLog(recorded, dialect).prune(1, 10),
  ],
  [
    'overdue heartbeats',
    'heartbeats_overdue',
    (recorded) => new Heartbeats(recorded, dialect).overdue(1, 10),
  ],
  [
    'the events of a heartbeat',
    'heartbeat_events_by_check',
    (recorded) => new Heartbeats(recorded, dialect).countEvents('c', 0, 1),
  ],
  [
    'the error groups of a check',
    'error_groups_by_owner',
    (recorded) =>
      new ErrorGroups(recorded, dialect).newest({ accountId: 'a', kind: 'check', ownerId: 'c' }, 10),
  ],
  [
    'results that are due to be removed',
    'results_by_check',
    (recorded) =>
      new Retired(recorded, dialect).removeDue(
        [
          ['c', 1],
          ['d', 2],
        ],
        10,
      ),
  ],
  [
    'checks with artifacts',
    'artifacts_by_check',
    (recorded) => new Retired(recorded, dialect).withArtifacts(['c', 'd']),
  ],
  ['old runs', 'runs_by_end', (recorded) => new Retired(recorded, dialect).removeRuns(1, 10)],
  [
    'old days of slots',
    'sqlite_autoindex_slot_days_1',
    (recorded) => new SlotDays(recorded, dialect).prune(['c', 'd'], 1, 10),
  ],
  ['old records', 'alerts_by_time', (recorded) => new Retired(recorded, dialect).removeRecords(1, 10)],
  [
    'old records of runs and sessions',
    'check_sessions_by_time',
    (recorded) => new Retired(recorded, dialect).removeRecords(1, 10),
  ],
  [
    'old test sessions',
    'test_sessions_by_time',
    (recorded) => new Retired(recorded, dialect).testSessions(1, 10),
  ],
  [
    'the next results to seal',
    'runs_unfinished',
    async (recorded) => {
      // The statement for pending runs is executed only if there are results.
      insertWithDefaults(path(), 'results', { check_id: 'c', result_type: 'FINAL', created: 1 });
      await new ResultColumns(recorded, dialect).nextSeal('c', 3_600_000);
    },
  ],
  [
    'runs that ended since',
    'runs_by_end',
    (recorded) => new CheckTotals(recorded, dialect).endedRunsAfter({ ended: 1, runId: '' }, 9, 10),
  ],
  [
    'artifacts that do not come',
    'artifacts_awaited',
    (recorded) => new Artifacts(recorded, dialect).loseAwaited(1),
  ],
  [
    'checks whose slot is too far off',
    'checks_planned',
    (recorded) => new Checks(recorded, dialect).ahead(allScheduleParts, 1, 10),
  ],
])('%s uses %s', async (_what, index, work) => {
  const { plans } = await recordStatements(path(), db, work);
  expect(plans).toMatch(new RegExp(`INDEX ${index}\\b`));
  expect(plans).not.toMatch(
    /SCAN (runs|results|checks|alert_notifications|alert_states|alert_subscriptions|statuses)( USING INDEX sqlite_autoindex\w+)?$/m,
  );
});

it('claims read the first rows of the queue, however many wait behind them', async () => {
  const { plans } = await recordStatements(path(), db, (recorded) =>
    new Leases(recorded, dialect).claim({
      locationId: 'l',
      lanes: [{ lane: 'probe', limit: 10 }],
      checkTypes: ['URL'],
      needs: [],
      agentId: 'a',
      sessionId: 's',
      claimNumber: null,
      now: 1,
      leaseUntil: 2,
    }),
  );
  expect(plans).toContain('INDEX runs_queue');
  expect(plans).not.toContain('TEMP B-TREE');
});
