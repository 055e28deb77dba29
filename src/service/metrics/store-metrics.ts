import type { ArtifactStore } from '@picket/platform/artifact-store/artifact-store.ts';
import { allScheduleParts } from '@picket/platform/store/engine/schedule-parts.ts';
import type { Repositories } from '@picket/platform/store/repositories.ts';
import type { Store } from '@picket/platform/store/store.ts';
import { Counter, Gauge, type Registry } from 'prom-client';

export type MeasuredStore = Repositories &
  Pick<Store, 'unheldScheduleParts' | 'isReplicaUsed' | 'isNatsConnected' | 'storage'>;

/** Metrics without account, available without the database: disks, and the use of optional services. */
export async function registerProcess(
  registers: Registry[],
  store: MeasuredStore,
  artifactStore?: ArtifactStore,
): Promise<void> {
  await setStorage(registers, store, artifactStore);
  setBesides(registers, store);
}

/** Metrics without account from the database: the schedule, and the partitions of results and runs. */
export async function registerSchedule(
  registers: Registry[],
  store: MeasuredStore,
  now: number,
): Promise<void> {
  await setSchedule(registers, store, now);
  await setDays(registers, store, now);
}

/** Disks of this process; those of a server or a bucket are monitored elsewhere. */
async function setStorage(
  registers: Registry[],
  store: MeasuredStore,
  artifactStore: ArtifactStore | undefined,
): Promise<void> {
  const free = new Gauge({
    name: 'picket_storage_free_bytes',
    help: 'Bytes this process may still write to the disk of its database (SQLite) or of its artifact directory',
    labelNames: ['place'] as const,
    registers,
  });
  const refused = new Counter({
    name: 'picket_storage_refused_writes_total',
    help: 'Writes that failed because the disk is full, read-only or failing, since this process started',
    labelNames: ['place'] as const,
    registers,
  });
  for (const [place, figures] of [
    ['database', await store.storage()],
    ['artifacts', await artifactStore?.storage?.()],
  ] as const) {
    if (!figures) continue;
    refused.inc({ place }, figures.refusedWrites);
    if (figures.freeBytes !== undefined) free.set({ place }, figures.freeBytes);
  }
}

/** Without account: a stalled schedule affects all accounts. */
async function setSchedule(registers: Registry[], store: MeasuredStore, now: number): Promise<void> {
  const lag = new Gauge({
    name: 'picket_schedule_lag_seconds',
    help: 'Time since the oldest due check was due that has no run yet; 0 if no check waits',
    registers,
  });
  const dueSince = await store.checks.nextSlotAt(allScheduleParts);
  lag.set(dueSince === null ? 0 : Math.max(0, now - dueSince) / 1000);
  const unheld = new Gauge({
    name: 'picket_schedule_parts_unheld',
    help: 'Parts of the schedule that no service process owns; their checks wait',
    registers,
  });
  unheld.set(await store.unheldScheduleParts());
}

/** Without account. Absent if the tables are not partitioned. */
async function setDays(registers: Registry[], store: MeasuredStore, now: number): Promise<void> {
  for (const { name, what, days } of [
    { name: 'picket_result_days_ahead', what: 'results', days: store.resultDays },
    { name: 'picket_run_days_ahead', what: 'runs', days: store.runDays },
  ]) {
    const parts = await days.parts();
    if (parts.length === 0) continue;
    const ahead = new Gauge({
      name,
      help: `Days after today that have a partition for their ${what}; -1 if today has no partition`,
      registers,
    });
    ahead.set(days.daysAhead(parts, now));
  }
}

/** Whether the optional services in addition to the database are available: 1 or 0, and absent if not configured. */
function setBesides(registers: Registry[], store: MeasuredStore): void {
  const states = [
    {
      name: 'picket_database_replica_used',
      isUsed: store.isReplicaUsed(),
      help: 'Whether this process reads at the replica of its database (1), or the replica is unavailable or behind (0)',
    },
    {
      name: 'picket_nats_connected',
      isUsed: store.isNatsConnected(),
      help: 'Whether signals of this process go over NATS (1), or NATS is unavailable and they go through the database (0)',
    },
  ];
  for (const { name, isUsed, help } of states) {
    if (isUsed !== undefined) new Gauge({ name, help, registers }).set(isUsed ? 1 : 0);
  }
}
