import { SeededRandom } from './seeded-random.ts';

/** The faults of the nemesis, by their kind of subject. */
export const faultKinds = {
  agent: [
    'agent-kill',
    'agent-stop',
    'agent-restart',
    'agent-descriptors',
    'agent-disk-full',
    'agent-clock',
    'wire-cut',
    'wire-requests-lost',
    'wire-replies-lost',
    'wire-reset',
    'wire-replies-broken',
  ],
  service: ['service-kill', 'service-stop', 'service-restart', 'service-descriptors', 'service-disk-full'],
  database: ['database-kill'],
} as const;
export type FaultKind = (typeof faultKinds)[keyof typeof faultKinds][number];

export interface PlannedFault {
  readonly kind: FaultKind;
  /** The affected process. */
  readonly subject: string;
  /** Milliseconds after the nemesis began. */
  readonly fromMs: number;
  readonly durationMs: number;
  /** From 0 to below 1: the severity, for faults that have degrees. */
  readonly strength: number;
}

/** Shortest and longest duration of each kind, in milliseconds. Some outlast a lease (15 s), some do not. */
const durations: Readonly<Record<FaultKind, readonly [number, number]>> = {
  'agent-kill': [300, 6_000],
  'agent-stop': [1_000, 25_000],
  'agent-restart': [300, 2_000],
  'agent-descriptors': [2_000, 12_000],
  'agent-disk-full': [2_000, 12_000],
  'agent-clock': [3_000, 20_000],
  'wire-cut': [1_000, 25_000],
  'wire-requests-lost': [1_000, 20_000],
  'wire-replies-lost': [1_000, 20_000],
  'wire-reset': [0, 0],
  'wire-replies-broken': [1_000, 6_000],
  'service-kill': [200, 3_000],
  'service-stop': [500, 12_000],
  'service-restart': [200, 1_500],
  'service-descriptors': [1_000, 6_000],
  'service-disk-full': [1_000, 6_000],
  'database-kill': [200, 3_000],
};

/** The mean gap between faults, and the minimum gap between two faults of one process. */
const meanGapMs = 2_500;
const restMs = 4_000;
/** The share of faults in agents: a service with constant faults would hide the behaviour of agents. */
const agentShare = 0.8;

/**
 * The faults of a campaign, determined by the seed and the actors. An actor has one fault at a time; faults of
 * different actors may overlap.
 */
export function planFaults(
  seed: number,
  durationMs: number,
  actors: Readonly<Record<keyof typeof faultKinds, readonly string[]>>,
): PlannedFault[] {
  const random = new SeededRandom(seed);
  const choices = Object.entries(actors).flatMap(([role, names]) =>
    names.flatMap((subject) =>
      faultKinds[role as keyof typeof faultKinds].map((kind) => ({ role, kind, subject })),
    ),
  );
  const freeAtMs = new Map<string, number>();
  const plan: PlannedFault[] = [];
  let atMs = random.between(0, meanGapMs);
  while (atMs < durationMs) {
    const role = random.next() < agentShare ? 'agent' : 'others';
    const free = choices.filter(
      (choice) =>
        (freeAtMs.get(choice.subject) ?? 0) <= atMs && (choice.role === 'agent') === (role === 'agent'),
    );
    const choice = free[Math.floor(random.next() * free.length)];
    const [share, strength] = [random.next(), random.next()];
    if (choice) {
      const [shortest, longest] = durations[choice.kind];
      const lasts = Math.min(shortest + share * (longest - shortest), durationMs - atMs);
      const { kind, subject } = choice;
      plan.push({ kind, subject, fromMs: Math.round(atMs), durationMs: Math.round(lasts), strength });
      freeAtMs.set(choice.subject, atMs + lasts + restMs);
    }
    atMs += random.between(0, 2 * meanGapMs);
  }
  return plan;
}
