import { lanes } from '@picket/checks/contract/check-type.ts';
import { AppError, isStoreFailure, toError } from '@picket/lib/errors.ts';
import { askedBy } from '@picket/lib/turns/asker.ts';
import { asStoreError } from '@picket/platform/store/engine/dialect.ts';
import type { Repositories } from '@picket/platform/store/repositories.ts';
import { Gauge, type Registry } from 'prom-client';
import { agentSeenWindowMs, isOutdated, runningSessions } from '../agent-presence/presence.ts';

/** How long a scrape waits for the database: Prometheus gives up after ten seconds by default. */
const waitMs = 5_000;

/**
 * Reads the operator's metrics from the database while it responds. Concurrent scrapes share a reading. No scrape waits
 * for a late reading, and no other reading starts until it has ended, because the database is busy enough.
 */
export class StoredReadings {
  #reading: Promise<string | undefined> | undefined;

  /** @returns undefined if the database does not respond in time. */
  async read(work: () => Promise<string>): Promise<string | undefined> {
    this.#reading ??= this.#begin(work);
    return await this.#reading;
  }

  async #begin(work: () => Promise<string>): Promise<string | undefined> {
    const late = new AbortController();
    const lateness = Promise.withResolvers<undefined>();
    const timer = setTimeout(() => {
      late.abort();
      lateness.resolve(undefined);
    }, waitMs);
    const reading = askedBy({ key: 'metrics', gone: late.signal }, work)
      .catch((thrown: unknown) => {
        const error = asStoreError(toError(thrown));
        const isLate = error instanceof AppError && error.code === 'CALLER_GONE';
        if (isLate || isStoreFailure(error)) return undefined;
        throw error;
      })
      .finally(() => {
        clearTimeout(timer);
        this.#reading = undefined;
      });
    return await Promise.race([reading, lateness.promise]);
  }
}

/** Metrics from the database for one account, or for all: intended for autoscalers of agents, and for alerts. */
export async function registerStored(
  registers: Registry[],
  {
    store,
    now,
    accountId,
  }: { readonly store: Repositories; readonly now: number; readonly accountId?: string | undefined },
): Promise<void> {
  await setQueues(registers, store, now, accountId);
  const gauge = <Label extends string>(name: string, help: string, labelNames: readonly Label[]) =>
    new Gauge({ name, help, labelNames, registers });
  const gaps = gauge(
    'picket_monitoring_gaps',
    'Checks that are not measured at a location for longer than their alert settings allow',
    ['account', 'location', 'reason'],
  );
  for (const { account_id: account, location, reason, count } of await store.gaps.countOpen(accountId)) {
    gaps.set({ account, location, reason }, count);
  }
  const burns = gauge(
    'picket_slo_burns_open',
    'Objectives whose error budget burns too fast, by burn alert',
    ['account'],
  );
  for (const { account, count } of await store.sloBurns.countByAccount(accountId))
    burns.set({ account }, count);
  const waiting = gauge(
    'picket_incident_failures_waiting',
    'Failures that open no incident yet: their automation rule cools down, or maintenance is in progress',
    ['account'],
  );
  for (const { account, count } of await store.ruleFailures.countWaiting(accountId)) {
    waiting.set({ account }, count);
  }
  const live = gauge(
    'picket_deployments_live',
    'Deployments of projects that wait (pending) or are in progress (running)',
    ['account', 'status'],
  );
  for (const { account, status, count } of await store.deployments.countLive(accountId)) {
    live.set({ account, status: status.toLowerCase() }, count);
  }
  const judged = gauge(
    'picket_root_cause_analyses_judged',
    'Root cause analyses of stored error groups that users rated right or wrong',
    ['account', 'verdict'],
  );
  for (const { account, verdict, count } of await store.analyses.countVerdicts(accountId)) {
    judged.set({ account, verdict: verdict.toLowerCase() }, count);
  }
  const open = gauge('picket_alert_causes_open', 'Open causes of several failing checks', ['account']);
  for (const { account, causes } of await store.alertCauses.openGroups(accountId))
    open.set({ account }, causes);
}

/** Per location and lane: waiting runs, runs in progress, age of the oldest waiting run, and number of agents. */
async function setQueues(
  registers: Registry[],
  store: Pick<Repositories, 'locationMinutes' | 'locations'>,
  now: number,
  accountId: string | undefined,
): Promise<void> {
  const perLane = (name: string, help: string) =>
    new Gauge({ name, help, labelNames: ['account', 'location', 'lane'] as const, registers });
  const queued = perLane('picket_location_queued_runs', 'Runs that wait for an agent of the location');
  const inFlight = perLane('picket_location_in_flight_runs', 'Runs in progress at agents of the location');
  // Autoscalers need this as one number: they use the largest of several triggers, not their sum.
  const unfinished = perLane(
    'picket_location_unfinished_runs',
    'Runs of the location that wait for an agent or are in progress: queued plus in flight',
  );
  const oldest = perLane(
    'picket_location_oldest_queued_run_age_seconds',
    'Waiting time of the oldest waiting run; 0 if no run waits',
  );
  const perLocation = (name: string, help: string) =>
    new Gauge({ name, help, labelNames: ['account', 'location'] as const, registers });
  const agents = perLocation('picket_location_agents', 'Agents that were seen in the last two minutes');
  const outdated = perLocation(
    'picket_location_outdated_agents',
    'Those of them whose major version is below that of the service',
  );
  const locations = await store.locationMinutes.locations(accountId);
  const queues = new Map(
    (await store.locationMinutes.queues(now, accountId)).map((queue) => [
      `${queue.locationId} ${queue.lane}`,
      queue,
    ]),
  );
  const ids = locations.map(({ id }) => id);
  const seen = await store.locations.agents(ids, now - agentSeenWindowMs);
  const sessions = Map.groupBy(seen, (session) => session.location_id);
  for (const { id, accountId: account, slugName: location } of locations) {
    const running = runningSessions(sessions.get(id) ?? []);
    agents.set({ account, location }, running.length);
    outdated.set({ account, location }, running.filter(({ version }) => isOutdated(version)).length);
    for (const lane of lanes) {
      const queue = queues.get(`${id} ${lane}`);
      const since = queue?.waitingSince ?? null;
      queued.set({ account, location, lane }, queue?.queued ?? 0);
      inFlight.set({ account, location, lane }, queue?.inFlight ?? 0);
      unfinished.set({ account, location, lane }, (queue?.queued ?? 0) + (queue?.inFlight ?? 0));
      oldest.set({ account, location, lane }, since === null ? 0 : Math.max(0, now - since) / 1000);
    }
  }
}
