import { distanceWords } from '@picket/lib/figures/distance.ts';
import type { IpFamily } from '../address.ts';
import { describeIcmpError } from '../icmp/errors.ts';
import type { HopAnswer } from './hop-prober.ts';
import { defaultMaxHops, defaultProbesPerHop, type Hop, isTimeExceeded, type Route } from './traceroute.ts';

const ends = {
  reached: 'the target responded',
  unreachable: 'the last hop reports that there is no route',
  silent: 'no response from behind the last hop; hosts there may simply ignore ICMP',
  'hop-limit': `the target is not among the first ${defaultMaxHops} hops`,
  'time-limit': 'the time limit was reached',
  unsent: 'this host could not send further requests',
} as const;

/** Summarises a route in one line, such as `the target responded in hop 4`. */
export function routeSummary({ hops, end, distance }: Route): string {
  if (end === 'reached') return `${ends.reached} ${distanceWords(distance ?? hops.length, hops.length)}`;
  const place = hops.length === 0 ? 'before the first hop' : `in hop ${hops.length}`;
  const says = end === 'unreachable' ? lastAnswerer(hops) : undefined;
  return `${ends[end]} (it ended ${place}${says === undefined ? '' : `, ${says}`})`;
}

/** Returns the address of the last hop that answered. */
export function lastAnswerer(hops: readonly Hop[]): string | undefined {
  return hops
    .flatMap(({ answers }) => answers.map((answer) => (answer.kind === 'answer' ? answer.address : null)))
    .findLast((address) => address !== null);
}

/** Formats a route in aligned columns: distance, address, round trip times in milliseconds, errors. */
export function routeText(
  route: Route,
  of: {
    readonly hostname: string;
    readonly address: string;
    readonly family: IpFamily;
    readonly startedAt: Date;
    /** The probe mechanism. */
    readonly means: string;
  },
): string {
  const { hostname, address, family, startedAt, means } = of;
  const target = hostname === address ? address : `${hostname} (${address})`;
  const rows = route.hops.flatMap((hop) => rowsOf(hop, family));
  const addressWidth = Math.max(1, ...rows.map((row) => row.address.length));
  const lines = rows.map((row) =>
    [
      row.ttl.padStart(2),
      row.address.padEnd(addressWidth),
      ...row.times.map((time) => time.padStart(10)),
      row.error,
    ]
      .join('  ')
      .trimEnd(),
  );
  return [
    `traceroute to ${target}, ${defaultMaxHops} hops max, ${defaultProbesPerHop} ICMP echo requests each`,
    `started ${startedAt.toISOString()} with ${means}`,
    '',
    ...lines,
    '',
    routeSummary(route),
    '',
  ].join('\n');
}

interface Row {
  readonly ttl: string;
  readonly address: string;
  readonly times: readonly string[];
  readonly error: string;
}

/** Returns one row for each address that answered at that distance. Unanswered probes appear as `*` in the first. */
function rowsOf({ ttl, answers }: Hop, family: IpFamily): Row[] {
  const byAddress = Map.groupBy(
    answers.filter((answer) => answer.kind === 'answer'),
    (answer) => answer.address ?? '(unknown)',
  );
  const others = answers.filter(({ kind }) => kind !== 'answer');
  const unsent = others.find((answer) => answer.kind === 'unsent');
  const rows = [...byAddress].map(([address, heard], index) => ({
    ttl: index === 0 ? String(ttl) : '',
    address,
    times: [...heard.map(timeText), ...(index === 0 ? others.map(() => '*') : [])],
    error: errorText(heard, family),
  }));
  if (rows.length > 0) return rows;
  const error = unsent ? `not sent: ${unsent.errno}` : 'no reply';
  return [{ ttl: String(ttl), address: '*', times: others.map(() => '*'), error }];
}

function timeText({ rttMs }: Extract<HopAnswer, { kind: 'answer' }>): string {
  return rttMs === null ? '? ms' : `${rttMs.toFixed(3)} ms`;
}

/** Formats errors that say more than "time exceeded". */
function errorText(heard: readonly Extract<HopAnswer, { kind: 'answer' }>[], family: IpFamily): string {
  const texts = heard.flatMap(({ error }) =>
    error === null || isTimeExceeded(family, error.type)
      ? []
      : [describeIcmpError(family, error.type, error.code)],
  );
  return [...new Set(texts)].join(', ');
}
