import type { Parts } from '@picket/platform/feature/parts.ts';
import type { Job } from '@picket/platform/jobs/job-loop.ts';
import { DayKeeper, type Divided, dividedResults, dividedRuns } from './day-keeper.ts';
import { LeaseSweep, leaseSweepLongestMs } from './lease-sweep.ts';
import { Retention } from './retention.ts';

const dayMs = 86_400_000;

export function retentionJobs(parts: Parts): readonly Job[] {
  const { config, leaseTtlMs } = parts;
  const resultsMs = config.RESULT_RETENTION_DAYS * dayMs;
  const days = (name: string, divided: Divided): Job => ({
    ...{ name, leaderOnly: true, longestMs: 60_000 },
    work: new DayKeeper({ ...parts, ...divided, keptMs: resultsMs }),
  });
  const retention = {
    resultsMs,
    artifactsMs: config.ARTIFACT_RETENTION_DAYS * dayMs,
    analyticsMs: config.ANALYTICS_RETENTION_DAYS * dayMs,
    auditMs: config.AUDIT_RETENTION_DAYS * dayMs,
  };
  return [
    {
      ...{ name: 'lease sweep', leaderOnly: false, longestMs: leaseSweepLongestMs(leaseTtlMs) },
      work: new LeaseSweep(parts),
    },
    days('days of results', dividedResults),
    days('days of runs', dividedRuns),
    {
      ...{ name: 'retention', leaderOnly: true, longestMs: 60_000 },
      work: new Retention({ ...parts, retention }),
    },
  ];
}
