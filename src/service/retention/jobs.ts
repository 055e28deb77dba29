import type { ServiceConfig } from '../config/config.ts';
import { defineJob } from '../jobs/job-loop.ts';
import { DayKeeper, type DayKeeperOptions, type Divided } from './day-keeper.ts';
import { LeaseSweep, leaseSweepLongestMs } from './lease-sweep.ts';
import { Retention } from './retention.ts';

const dayMs = 86_400_000;

export type RetentionDeps = Omit<ConstructorParameters<typeof Retention>[0], 'retention'> & {
  readonly config: Pick<
    ServiceConfig,
    'RESULT_RETENTION_DAYS' | 'ARTIFACT_RETENTION_DAYS' | 'ANALYTICS_RETENTION_DAYS' | 'AUDIT_RETENTION_DAYS'
  >;
};

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
