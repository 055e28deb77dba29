import type { ModelAccess } from '../../checks/model/access.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import { createEgressPolicy } from '../../probes/egress/policy.ts';
import { CauseWatch, type CauseWatchOptions } from '../alerts/causes/cause-watch.ts';
import { type AlertingConfig, configuredNotifier } from '../alerts/delivery/configured-notifier.ts';
import { noteAway } from '../alerts/gaps/away.ts';
import { AlertTimers } from '../alerts/timers.ts';
import { Analyst } from '../analyses/analyst.ts';
import { ModelAnalyst } from '../analyses/asking/model-analyst.ts';
import type { ArtifactStore } from '../artifact-store/artifact-store.ts';
import { Folding } from '../check-metrics/folding.ts';
import type { RemoteWrite } from '../check-metrics/remote-write/remote-write.ts';
import type { ServiceConfig } from '../config/config.ts';
import type { DomainProof } from '../custom-domains/domain-proof.ts';
import { DomainWatch } from '../custom-domains/domain-watch.ts';
import { HeartbeatWatch } from '../heartbeats/watch.ts';
import { automaticIncidents } from '../incidents/automatic-incidents.ts';
import { WaitingFailures } from '../incidents/rules/rule-incidents.ts';
import { IncidentFeed } from '../incidents/trigger.ts';
import type { MailServer } from '../mail/mail-server.ts';
import { SubscriberNotifier } from '../mail/subscriber-notifier.ts';
import { MaintenanceNotices } from '../maintenance/notices.ts';
import type { ServiceMetrics } from '../metrics/metrics.ts';
import { ReceiverNames } from '../outbound/receiver-names.ts';
import { CopyKeeper } from '../pages/copy-keeper.ts';
import { Deploying } from '../projects/deploying.ts';
import type { AnalyticsThread } from '../results/analytics/analytics-thread.ts';
import type { ClickHouseFeed } from '../results/clickhouse/feed.ts';
import { Scheduler } from '../runs/scheduler.ts';
import { Sessions } from '../sessions/sessions.ts';
import { BurnWatch } from '../slos/burn-watch.ts';
import type { Store } from '../store/store.ts';
import type { TraceExport } from '../traces/trace-export.ts';
import { DayKeeper, type DayKeeperOptions, type Divided, dividedResults, dividedRuns } from './day-keeper.ts';
import { defineJob, JobLoop } from './job-loop.ts';
import { LeaseSweep, leaseSweepLongestMs } from './lease-sweep.ts';
import { Retention } from './retention.ts';

type RetentionDeps = Omit<ConstructorParameters<typeof Retention>[0], 'retention'> & {
  readonly config: Pick<
    ServiceConfig,
    'RESULT_RETENTION_DAYS' | 'ARTIFACT_RETENTION_DAYS' | 'ANALYTICS_RETENTION_DAYS' | 'AUDIT_RETENTION_DAYS'
  >;
};

type DeployingDeps = ConstructorParameters<typeof Deploying>[0];

export interface JobDeps extends Pick<DeployingDeps, 'handlersOn' | 'progress'> {
  readonly store: Store;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly artifactStore: ArtifactStore;
  readonly metrics: ServiceMetrics;
  readonly analytics: AnalyticsThread;
  readonly leaseTtlMs: number;
  readonly domainProof: DomainProof;
  readonly config: AlertingConfig & RetentionDeps['config'] & Pick<ServiceConfig, 'PAGES'>;
  /** Absent where no mail server is configured; its maker closes it. */
  readonly mail?: MailServer | undefined;
  /** Absent where no model is named. */
  readonly model?: ModelAccess | undefined;
  /** Absent where no collector is configured. */
  readonly traces?: TraceExport | undefined;
  /** Absent where no receiver is configured. */
  readonly remoteWrite?: RemoteWrite | undefined;
  /** Absent where no ClickHouse is configured. */
  readonly clickHouseFeed?: ClickHouseFeed | undefined;
}

const dayMs = 86_400_000;

/** The background jobs of a process, in the order they start. They stop in the opposite order. */
export function backgroundJobs(deps: JobDeps): readonly JobLoop[] {
  const { config, mail } = deps;
  const mailing = { hasMailer: mail !== undefined, publicUrl: config.PUBLIC_URL };
  const definitions = [
    notifierJob({ ...deps, asksModel: deps.model !== undefined }),
    alertTimersJob(deps),
    alertCausesJob(deps),
    analysesJob({ ...deps, asksModel: deps.model !== undefined }),
    ...(deps.model ? [modelQuestionsJob({ ...deps, model: deps.model })] : []),
    sloBurnsJob(deps),
    incidentFeedJob({ ...deps, handler: automaticIncidents(mailing) }),
    waitingIncidentsJob({ ...deps, ...mailing }),
    ...(mail ? [subscriberNotifierJob({ ...deps, mail, hasPages: config.PAGES === 'on' })] : []),
    ...(mail ? [maintenanceNoticesJob({ ...deps, publicUrl: config.PUBLIC_URL })] : []),
    heartbeatWatchJob(deps),
    leaseSweepJob(deps),
    schedulerJob(deps),
    deploymentsJob(deps),
    daysJob('days of results', dividedResults, deps),
    daysJob('days of runs', dividedRuns, deps),
    retentionJob(deps),
    checkTotalsJob(deps),
    ...(deps.traces ? [tracesJob(deps.traces)] : []),
    ...(deps.clickHouseFeed ? [clickHouseFeedJob(deps.clickHouseFeed)] : []),
    ...(deps.remoteWrite ? [remoteWriteJob(deps.remoteWrite)] : []),
    customDomainsJob({ ...deps, proof: deps.domainProof }),
    ...(config.PAGES === 'on' ? [pageCopiesJob({ ...deps, proof: deps.domainProof })] : []),
  ];
  return definitions.map((definition) => new JobLoop(definition, deps));
}

export function notifierJob(deps: Parameters<typeof configuredNotifier>[0]) {
  const notifier = configuredNotifier(deps);
  return defineJob({
    name: 'notifier',
    leaderOnly: false,
    wakesOn: ['alerts'],
    longestMs: 2_000,
    run: (wake) => notifier.turn(wake),
    close: () => notifier.close(),
  });
}

export function alertTimersJob(deps: ConstructorParameters<typeof AlertTimers>[0]) {
  const timers = new AlertTimers(deps);
  return defineJob({
    name: 'alert timers',
    leaderOnly: false,
    wakesOn: ['alerts'],
    longestMs: 5_000,
    run: () => timers.turn(),
  });
}

export function alertCausesJob(deps: Omit<CauseWatchOptions, 'runNow'>) {
  const sessions = new Sessions(deps);
  const watch = new CauseWatch({
    ...deps,
    runNow: (accountId, checkIds) =>
      sessions.startChecks(accountId, { checkIds }, { runSource: 'ALERT_CAUSE' }),
  });
  return defineJob({
    name: 'alert causes',
    leaderOnly: true,
    wakesOn: ['alerts'],
    longestMs: 5_000,
    run: () => watch.turn(),
  });
}

export function analysesJob(deps: ConstructorParameters<typeof Analyst>[0]) {
  const analyst = new Analyst(deps);
  return defineJob({
    name: 'root cause analyses',
    leaderOnly: true,
    wakesOn: ['alerts'],
    longestMs: 2_000,
    run: () => analyst.turn(),
  });
}

/** Apart from the analyses themselves, which no model may hold up. */
export function modelQuestionsJob({
  config,
  ...deps
}: Omit<ConstructorParameters<typeof ModelAnalyst>[0], 'network'> & {
  readonly config: Pick<AlertingConfig, 'EGRESS_ALLOW' | 'EGRESS_DENY'>;
}) {
  const names = new ReceiverNames();
  const analyst = new ModelAnalyst({
    ...deps,
    network: {
      // The operator chose the address, so that a model on this host is as good as any.
      egress: createEgressPolicy({ allow: config.EGRESS_ALLOW, deny: config.EGRESS_DENY, ownPorts: [] }),
      resolver: {
        resolve: async (hostname) => {
          const found = await names.addressesOf(hostname);
          return found.map(({ address, family }) => ({ address, family: family === 6 ? 6 : 4 }));
        },
      },
    },
  });
  return defineJob({
    name: 'questions to a model',
    // One process asks, so that its limits of a day are those of all.
    leaderOnly: true,
    wakesOn: ['alerts'],
    longestMs: 2_000,
    run: () => analyst.turn(),
    stopping: () => analyst.stop(),
  });
}

export function sloBurnsJob(deps: ConstructorParameters<typeof BurnWatch>[0]) {
  const watch = new BurnWatch(deps);
  return defineJob({
    name: 'slo burns',
    leaderOnly: true,
    wakesOn: [],
    longestMs: 60_000,
    run: () => watch.turn(),
  });
}

export function incidentFeedJob(deps: ConstructorParameters<typeof IncidentFeed>[0]) {
  const feed = new IncidentFeed(deps);
  return defineJob({
    name: 'incident feed',
    leaderOnly: false,
    wakesOn: ['alerts'],
    longestMs: 5_000,
    run: () => feed.turn(),
  });
}

export function waitingIncidentsJob(deps: ConstructorParameters<typeof WaitingFailures>[0]) {
  const waiting = new WaitingFailures(deps);
  return defineJob({
    name: 'waiting incidents',
    leaderOnly: false,
    wakesOn: ['alerts'],
    longestMs: 30_000,
    run: () => waiting.turn(),
  });
}

export function subscriberNotifierJob(deps: ConstructorParameters<typeof SubscriberNotifier>[0]) {
  const notifier = new SubscriberNotifier(deps);
  return defineJob({
    name: 'subscriber notifier',
    leaderOnly: false,
    wakesOn: [],
    longestMs: 2_000,
    run: () => notifier.turn(),
  });
}

export function maintenanceNoticesJob(deps: ConstructorParameters<typeof MaintenanceNotices>[0]) {
  const notices = new MaintenanceNotices(deps);
  return defineJob({
    name: 'maintenance notices',
    leaderOnly: true,
    wakesOn: [],
    longestMs: 20_000,
    run: () => notices.turn(),
  });
}

export function heartbeatWatchJob(deps: ConstructorParameters<typeof HeartbeatWatch>[0]) {
  const watch = new HeartbeatWatch(deps);
  return defineJob({
    name: 'heartbeat watch',
    leaderOnly: true,
    wakesOn: [],
    // No grace time can end sooner after a ping than this, so pings need not wake it.
    longestMs: 5_000,
    run: () => watch.turn(),
  });
}

export function leaseSweepJob(deps: ConstructorParameters<typeof LeaseSweep>[0]) {
  const sweep = new LeaseSweep(deps);
  return defineJob({
    name: 'lease sweep',
    leaderOnly: false,
    wakesOn: [],
    longestMs: leaseSweepLongestMs(deps.leaseTtlMs),
    run: () => sweep.turn(),
  });
}

export function schedulerJob(deps: Omit<ConstructorParameters<typeof Scheduler>[0], 'noteAway'>) {
  const scheduler = new Scheduler({ ...deps, noteAway });
  return defineJob({
    name: 'scheduler',
    // Each process does its parts of the schedule.
    leaderOnly: false,
    wakesOn: ['schedule'],
    longestMs: 30_000,
    run: () => scheduler.turn(),
    close: () => deps.store.leaveSchedule(),
  });
}

export function deploymentsJob(deps: DeployingDeps) {
  const deploying = new Deploying(deps);
  return defineJob({
    name: 'deployments',
    leaderOnly: false,
    wakesOn: ['deployments'],
    longestMs: 2_000,
    run: (wake) => deploying.turn(wake),
    close: () => deploying.ended(),
  });
}

export function tracesJob(traces: TraceExport) {
  return defineJob({
    name: 'traces',
    leaderOnly: false,
    wakesOn: [],
    longestMs: 5_000,
    run: () => traces.turn(),
    close: () => traces.close(),
  });
}

export function remoteWriteJob(remoteWrite: RemoteWrite) {
  return defineJob({
    name: 'remote write',
    leaderOnly: true,
    wakesOn: [],
    longestMs: 60_000,
    run: () => remoteWrite.turn(),
    stopping: () => remoteWrite.stop(),
    close: () => remoteWrite.close(),
  });
}

export function clickHouseFeedJob(feed: ClickHouseFeed) {
  return defineJob({
    name: 'feed of ClickHouse',
    leaderOnly: true,
    wakesOn: [],
    longestMs: 60_000,
    run: () => feed.turn(),
    stopping: () => feed.stop(),
    close: () => feed.close(),
  });
}

export function checkTotalsJob(deps: ConstructorParameters<typeof Folding>[0]) {
  const folding = new Folding(deps);
  return defineJob({
    name: 'check totals',
    leaderOnly: true,
    wakesOn: [],
    longestMs: 60_000,
    run: () => folding.turn(),
  });
}

export function customDomainsJob(deps: ConstructorParameters<typeof DomainWatch>[0]) {
  const watch = new DomainWatch(deps);
  return defineJob({
    name: 'custom domains',
    leaderOnly: true,
    wakesOn: [],
    longestMs: 15_000,
    run: () => watch.turn(),
  });
}

export function pageCopiesJob(deps: ConstructorParameters<typeof CopyKeeper>[0]) {
  const keeper = new CopyKeeper(deps);
  return defineJob({
    name: 'copies of pages',
    leaderOnly: true,
    wakesOn: [],
    longestMs: 10_000,
    run: () => keeper.turn(),
  });
}

export function daysJob(
  name: string,
  divided: Divided,
  { config, ...deps }: Omit<DayKeeperOptions, keyof Divided | 'keptMs'> & Pick<RetentionDeps, 'config'>,
) {
  const keeper = new DayKeeper({ ...deps, ...divided, keptMs: config.RESULT_RETENTION_DAYS * dayMs });
  return defineJob({
    name,
    leaderOnly: true,
    wakesOn: [],
    longestMs: 60_000,
    run: () => keeper.turn(),
    stopping: () => keeper.stop(),
  });
}

export function retentionJob(deps: RetentionDeps) {
  const { config } = deps;
  const retention = new Retention({
    ...deps,
    retention: {
      resultsMs: config.RESULT_RETENTION_DAYS * dayMs,
      artifactsMs: config.ARTIFACT_RETENTION_DAYS * dayMs,
      analyticsMs: config.ANALYTICS_RETENTION_DAYS * dayMs,
      auditMs: config.AUDIT_RETENTION_DAYS * dayMs,
    },
  });
  return defineJob({
    name: 'retention',
    leaderOnly: true,
    wakesOn: [],
    longestMs: 60_000,
    run: () => retention.turn(),
  });
}
