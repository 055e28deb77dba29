import { setTimeout as delay } from 'node:timers/promises';

/** How probes follow each other. */
export type Load = { readonly name: string } & (
  | { readonly kind: 'in-flight'; readonly count: number }
  | { readonly kind: 'burst'; readonly count: number }
  | { readonly kind: 'rate'; readonly perSecond: number }
);

export const loads: readonly Load[] = [
  { name: '1 in flight', kind: 'in-flight', count: 1 },
  { name: '10 in flight', kind: 'in-flight', count: 10 },
  { name: '50 in flight', kind: 'in-flight', count: 50 },
  { name: '100 in flight', kind: 'in-flight', count: 100 },
  { name: 'bursts of 100', kind: 'burst', count: 100 },
  { name: '100 a second', kind: 'rate', perSecond: 100 },
  { name: '500 a second', kind: 'rate', perSecond: 500 },
];

/** Pause between two bursts, in milliseconds. */
const burstPauseMs = 300;

/** Number of probes of a load within that many seconds if each takes `probeMs`. */
export function probeCount(load: Load, seconds: number, probeMs: number): number {
  if (load.kind === 'rate') return Math.round(load.perSecond * seconds);
  const rounds = (seconds * 1000) / (load.kind === 'burst' ? probeMs + burstPauseMs : probeMs);
  return load.count * Math.max(1, Math.round(rounds));
}

/** Can be put under a load; probes have an index, so that the caller can tell them apart. */
export interface Loadable {
  /** Makes all probes from `first` up to `end`, with `inFlight` of them active at any time. */
  closedLoop(first: number, end: number, inFlight: number): Promise<void>;
  /** Starts one probe without waiting for it. */
  start(index: number): void;
  /** Resolves when that many probes have ended. */
  ended(count: number): Promise<void>;
}

/** Makes `count` probes, in sequence or concurrently as the load defines. */
export async function applyLoad(load: Load, count: number, loadable: Loadable): Promise<void> {
  if (load.kind === 'in-flight') {
    await loadable.closedLoop(0, count, load.count);
    return;
  }
  if (load.kind === 'burst') {
    for (let first = 0; first < count; first += load.count) {
      const end = Math.min(count, first + load.count);
      await loadable.closedLoop(first, end, load.count);
      await delay(burstPauseMs);
    }
    return;
  }
  const startMs = performance.now();
  for (let index = 0; index < count; index += 1) {
    const waitMs = startMs + (index * 1000) / load.perSecond - performance.now();
    // Catches up on late probes: the rate is constant whatever they do.
    if (waitMs > 0) await delay(waitMs);
    loadable.start(index);
  }
  await loadable.ended(count);
}
