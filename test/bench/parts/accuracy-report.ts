import { type BenchReport, quantile } from '../report.ts';

/** Reported minus true, in milliseconds. */
export interface PhaseErrors {
  readonly connect?: number;
  readonly tls?: number;
  readonly wait?: number;
  readonly total: number;
  /** The largest error of its span boundaries. */
  readonly spans?: number | undefined;
  /** The total on the wire. */
  readonly trueTotal?: number;
  /** Whether the prober itself doubts its times; undefined for one that never does. */
  readonly isDoubtful?: boolean | undefined;
}

/** One prober under one load. */
export interface Measured {
  readonly what: string;
  readonly load: string;
  readonly prober: 'picket' | 'blackbox';
  readonly errors: readonly PhaseErrors[];
  readonly made: number;
  /** Packets that the capture dropped. */
  readonly lost: number;
}

const phases = ['connect', 'tls', 'wait', 'total'] as const;
type Phase = (typeof phases)[number] | 'spans';

export function accuracyReport(
  measured: readonly Measured[],
  { seconds, waitMs }: { readonly seconds: number; readonly waitMs: number },
): BenchReport {
  const lost = measured.reduce((sum, row) => sum + row.lost, 0);
  return {
    columns: [
      'probe',
      'load',
      'prober',
      'joined of made',
      ...phases.map((phase) => `${phase} error (ms)`),
      'bounds of spans (ms)',
      'doubted of wrong',
      'doubted of right',
    ],
    rows: measured.map((row) => [
      row.what,
      row.load,
      row.prober,
      `${row.errors.length} of ${row.made}`,
      ...phases.map((phase) => cellOf(row, phase)),
      cellOf(row, 'spans'),
      ...doubtCells(row.errors),
    ]),
    notes: [
      'p50 / p95 / p99 of the absolute difference between what is reported and what the wire says: nanosecond stamps of tcpdump on the prober’s host, joined to each probe by the local port its server saw.',
      'Wire: SYN to SYN-ACK, ClientHello to the last byte of the server’s flight, request to first byte, their sum with first to last byte as total. blackbox_exporter: its phases connect, tls, processing, and the sum with transfer.',
      `The server waits ${waitMs} ms before each answer; ${seconds} s for each load. Whole agent (lease to report) and blackbox_exporter one after the other on the same host with the same priority; server and tcpdump have real-time priority. The capture lost ${lost} packets.`,
      'Wrong: a total that is off by more than 5 ms and by more than 5 %. Doubted: reported with `isTimingDoubtful`.',
      'SSL: handshakes alone, which the server knows by their names. blackbox_exporter has no phases of those.',
      'WebSocket: the wait is for the answer of the handshake, and the total goes to the last byte of a message that comes 20 ms later. blackbox_exporter has no phases of those.',
      'gRPC: a call of the health service without TLS, known by its metadata; the column of TLS is the exchange of settings. blackbox_exporter has no phases of those either.',
      'Bounds of spans: of the trace that OpenTelemetry gets of a request, the bound that is farthest from the wire: where the connection begins and ends, the first and the last byte of the response.',
      'ICMP: the reported round trip of 500 requests, 10 ms apart, against the capture’s stamps of request and reply.',
    ],
    figures: figuresOf(measured),
  };
}

function cellOf({ errors }: Measured, phase: Phase): string {
  const values = sizesOf(errors, phase);
  if (values.length === 0 || values.every((value) => value === 0)) return '–';
  return [0.5, 0.95, 0.99].map((q) => quantile(values, q).toFixed(2)).join(' / ');
}

/** Whether a total could mislead a user. */
function isWrong({ total, trueTotal = 0 }: PhaseErrors): boolean {
  return Math.abs(total) > Math.max(5, 0.05 * trueTotal);
}

function doubtCells(errors: readonly PhaseErrors[]): string[] {
  const known = errors.filter(({ isDoubtful }) => isDoubtful !== undefined);
  if (known.length === 0) return ['–', '–'];
  return [known.filter(isWrong), known.filter((error) => !isWrong(error))].map(
    (some) => `${some.filter(({ isDoubtful }) => isDoubtful).length} of ${some.length}`,
  );
}

function sizesOf(errors: readonly PhaseErrors[], phase: Phase): number[] {
  return errors.flatMap((error) => {
    const value = error[phase];
    return value === undefined ? [] : [Math.abs(value)];
  });
}

/** The figures of the `BENCH` line. */
function figuresOf(measured: readonly Measured[]): Record<string, string> {
  const of = (what: string, load: string, prober: string, phase: Phase, q: number) => {
    const row = measured.find(
      (entry) => entry.what === what && entry.load === load && entry.prober === prober,
    );
    return row ? quantile(sizesOf(row.errors, phase), q) : Number.NaN;
  };
  const figures: Record<string, number> = {};
  const doubted = measured
    .flatMap(({ errors }) => errors)
    .filter(({ isDoubtful }) => isDoubtful !== undefined);
  for (const [name, some] of Object.entries({
    wrong: doubted.filter(isWrong),
    right: doubted.filter((error) => !isWrong(error)),
  })) {
    figures[`${name}_totals`] = some.length;
    figures[`${name}_totals_doubted_share`] =
      some.filter(({ isDoubtful }) => isDoubtful).length / some.length;
  }
  for (const scheme of ['http', 'https']) {
    figures[`${scheme}_idle_p50_ms`] = of(scheme, '1 in flight', 'picket', 'total', 0.5);
    const burst = phases.map((phase) => of(scheme, 'bursts of 100', 'picket', phase, 0.95));
    figures[`${scheme}_burst_worst_p95_ms`] = Math.max(...burst);
    const ours = of(scheme, '500 a second', 'picket', 'total', 0.95);
    figures[`${scheme}_500s_p95_ms`] = ours;
    figures[`${scheme}_500s_p95_of_peer`] = ours / of(scheme, '500 a second', 'blackbox', 'total', 0.95);
  }
  for (const load of ['idle', 'busy']) {
    const row = measured.find((entry) => entry.what === 'icmp, kernel sockets' && entry.load.includes(load));
    if (row) figures[`icmp_${load}_p99_ms`] = quantile(sizesOf(row.errors, 'total'), 0.99);
  }
  return Object.fromEntries(
    Object.entries(figures).flatMap(([key, value]) => (Number.isNaN(value) ? [] : [[key, value.toFixed(3)]])),
  );
}
