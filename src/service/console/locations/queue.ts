import { lanes } from '../../../checks/contract/check-type.ts';
import type { QueueState } from '../../locations/minute-store.ts';
import type { LocationMinuteRow } from '../../locations/tables.ts';
import { duration } from '../elements/format.ts';
import { sparkline } from '../elements/sparkline.ts';
import { facts } from '../elements/table.ts';
import { type Html, html } from '../html.ts';

const laneWords: Readonly<Record<(typeof lanes)[number], string>> = {
  probe: 'Probes (URL, API, DNS, TCP, ICMP)',
  script: 'Scripts (browser, multi-step, suites)',
};

/** What waits for the agents of a location, by lane, and how it was in the past hours. */
export function queueSection(
  queues: readonly QueueState[],
  minutes: readonly LocationMinuteRow[],
  now: number,
): Html {
  const byLane = new Map(queues.map((queue) => [queue.lane, queue]));
  const most = Math.max(0, ...minutes.map(({ queue_size }) => queue_size));
  const oldest = Math.max(0, ...minutes.map(({ oldest_age }) => oldest_age));
  return html`<section><h2>Queue</h2>${facts([
    ...lanes.map((lane) => {
      const { queued = 0, inFlight = 0, waitingSince = null } = byLane.get(lane) ?? {};
      const age =
        waitingSince === null ? '' : `, the oldest for ${duration(Math.max(0, now - waitingSince))}`;
      return [laneWords[lane], `${queued} waiting${age}; ${inFlight} running`] as const;
    }),
    [
      'Waiting in the last 3 hours',
      minutes.length < 2
        ? null
        : html`${sparkline(
            `Runs that waited, minute by minute: at most ${most}`,
            minutes.map(({ queue_size }) => queue_size),
            { width: 180, height: 28 },
          )}<br><span class="small soft">at most ${most}, for up to ${duration(oldest * 1_000)}</span>`,
    ],
  ])}</section>`;
}
