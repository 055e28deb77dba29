import { defineJob } from '../jobs/job-loop.ts';
import { MaintenanceNotices } from './notices.ts';

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
