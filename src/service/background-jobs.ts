import type { ModelAccess } from '../checks/model/access.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import type { AlertingConfig } from './alerts/delivery/configured-notifier.ts';
import { noteAway } from './alerts/gaps/away.ts';
import { alertCausesJob, alertTimersJob, notifierJob } from './alerts/jobs.ts';
import { analysesJob, modelQuestionsJob } from './analyses/jobs.ts';
import type { ArtifactStore } from './artifact-store/artifact-store.ts';
import { checkTotalsJob, remoteWriteJob } from './check-metrics/jobs.ts';
import type { RemoteWrite } from './check-metrics/remote-write/remote-write.ts';
import type { ServiceConfig } from './config/config.ts';
import type { DomainProof } from './custom-domains/domain-proof.ts';
import { customDomainsJob } from './custom-domains/jobs.ts';
import { heartbeatWatchJob } from './heartbeats/jobs.ts';
import { automaticIncidents } from './incidents/automatic-incidents.ts';
import { incidentFeedJob, waitingIncidentsJob } from './incidents/jobs.ts';
import { JobLoop } from './jobs/job-loop.ts';
import { subscriberNotifierJob } from './mail/jobs.ts';
import type { MailServer } from './mail/mail-server.ts';
import { maintenanceNoticesJob } from './maintenance/jobs.ts';
import type { ServiceMetrics } from './metrics/metrics.ts';
import { pageCopiesJob } from './pages/jobs.ts';
import { type DeployingDeps, deploymentsJob } from './projects/jobs.ts';
import type { AnalyticsThread } from './results/analytics/analytics-thread.ts';
import type { ClickHouseFeed } from './results/clickhouse/feed.ts';
import { clickHouseFeedJob } from './results/jobs.ts';
import { dividedResults, dividedRuns } from './retention/day-keeper.ts';
import { daysJob, leaseSweepJob, type RetentionDeps, retentionJob } from './retention/jobs.ts';
import { schedulerJob } from './runs/jobs.ts';
import { Sessions } from './sessions/sessions.ts';
import { sloBurnsJob } from './slos/jobs.ts';
import type { Store } from './store/store.ts';
import { tracesJob } from './traces/jobs.ts';
import type { TraceExport } from './traces/trace-export.ts';

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

/** The background jobs of a process, in the order they start. They stop in the opposite order. */
export function backgroundJobs(deps: JobDeps): readonly JobLoop[] {
  const { config, mail } = deps;
  const mailing = { hasMailer: mail !== undefined, publicUrl: config.PUBLIC_URL };
  const sessions = new Sessions(deps);
  const definitions = [
    notifierJob({ ...deps, asksModel: deps.model !== undefined }),
    alertTimersJob(deps),
    alertCausesJob({
      ...deps,
      runNow: (accountId, checkIds) =>
        sessions.startChecks(accountId, { checkIds }, { runSource: 'ALERT_CAUSE' }),
    }),
    analysesJob({ ...deps, asksModel: deps.model !== undefined }),
    ...(deps.model ? [modelQuestionsJob({ ...deps, model: deps.model })] : []),
    sloBurnsJob(deps),
    incidentFeedJob({ ...deps, handler: automaticIncidents(mailing) }),
    waitingIncidentsJob({ ...deps, ...mailing }),
    ...(mail ? [subscriberNotifierJob({ ...deps, mail, hasPages: config.PAGES === 'on' })] : []),
    ...(mail ? [maintenanceNoticesJob({ ...deps, publicUrl: config.PUBLIC_URL })] : []),
    heartbeatWatchJob(deps),
    leaseSweepJob(deps),
    schedulerJob({ ...deps, noteAway }),
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
