import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * What each actor did and saw, recorded at the time: one file of JSON lines per actor, in one folder per campaign.
 * `atMs` and similar fields are milliseconds of one monotonic clock, that of the campaign process, which observes
 * everything. The judge (checker.ts) reads only such a folder.
 */
export type HistoryEvent = ClaimEvent | RenewEvent | ReleaseEvent | ResultsEvent | OtherEvent;

export interface LeaseName {
  readonly runId: string;
  readonly leaseNumber: number;
}

/**
 * A call of an agent: when it reached the service's side of the wire, and when the service's response was complete
 * there.
 */
interface Call {
  readonly agent: string;
  readonly sessionId: string;
  readonly askedAtMs: number;
  readonly answeredAtMs: number;
}

export interface ClaimEvent extends Call {
  readonly kind: 'claim';
  readonly claimNumber: number;
  /** Earlier claims of the session without a response: the service takes back their leases. */
  readonly lostClaims: readonly number[];
  readonly granted: readonly (LeaseName & { readonly checkId: string; readonly resultId: string })[];
}

export interface RenewEvent extends Call {
  readonly kind: 'renew';
  readonly leases: readonly LeaseName[];
  readonly lost: readonly string[];
}

export interface ReleaseEvent extends Call {
  readonly kind: 'release';
  readonly leases: readonly LeaseName[];
}

export interface ResultsEvent extends Call {
  readonly kind: 'results';
  readonly reports: readonly (LeaseName & { readonly resultId: string; readonly receipt: string })[];
}

export type OtherEvent =
  /** A call without a response, or without success. The service may have processed it. */
  | {
      readonly kind: 'unanswered';
      readonly agent: string;
      readonly call: string;
      readonly askedAtMs: number;
      readonly atMs: number;
      readonly status: number | null;
      readonly resultIds: readonly string[];
    }
  /** A request that reached a target. */
  | {
      readonly kind: 'request';
      readonly atMs: number;
      readonly endedAtMs: number;
      readonly path: string;
      readonly status: number;
    }
  /** A fault that the nemesis caused. */
  | {
      readonly kind: 'fault';
      readonly fault: string;
      readonly subject: string;
      readonly fromMs: number;
      readonly toMs: number;
    }
  | { readonly kind: 'started'; readonly process: string; readonly atMs: number; readonly pid: number }
  | {
      readonly kind: 'ended';
      readonly process: string;
      readonly atMs: number;
      /** Whether the campaign ended it; otherwise it ended by itself. */
      readonly isByUs: boolean;
      readonly wasReady: boolean;
      readonly code: number | null;
      readonly signal: string | null;
    };

/** A check of the campaign. Wall times are those of the machine, which the service shares. */
export interface CampaignCheck {
  readonly id: string;
  readonly path: string;
  readonly intervalMs: number;
  readonly locations: readonly string[];
  readonly isParallel: boolean;
  /** Whether its target always responds as the check expects. */
  readonly isHealthy: boolean;
  /** The spans within which it was created and deactivated. */
  readonly createdWithin: readonly [number, number];
  readonly endedWithin: readonly [number, number];
}

export interface LedgerRows {
  readonly runs: readonly {
    readonly id: string;
    readonly checkId: string;
    readonly slotLocation: string;
    readonly slotAt: number;
    readonly slotCount: number;
    readonly state: string;
    readonly reason: string | null;
    readonly leaseNumber: number;
    readonly created: number;
    readonly ended: number | null;
  }[];
  readonly results: readonly {
    readonly id: string;
    readonly runId: string;
    readonly checkId: string;
    readonly type: string;
    readonly attempt: number;
    readonly created: number;
    readonly started: number;
    readonly stopped: number;
    readonly hasFailures: number;
    readonly hasErrors: number;
    readonly code: string | null;
    readonly message: string | null;
  }[];
  readonly stale: readonly { readonly id: string; readonly runId: string; readonly leaseNumber: number }[];
}

/** Outcomes of a check's slots on a surface of the service, at the end of the campaign. */
export interface ShownCounts {
  readonly checkId: string;
  readonly surface: string;
  /** The due times that are counted, in epoch milliseconds; null: all. */
  readonly window: { readonly from: number; readonly to: number } | null;
  readonly due: number;
  readonly final: number;
  readonly missed: Readonly<Record<string, number>>;
  readonly cancelled: Readonly<Record<string, number>>;
  readonly onTheirWay: number;
}

/** The input of the judge. */
export interface Histories {
  readonly checks: readonly CampaignCheck[];
  readonly ledger: LedgerRows;
  /** Absent if the version of the service does not show any. */
  readonly shown?: readonly ShownCounts[];
  readonly events: readonly HistoryEvent[];
}

/** Writes the histories of a campaign into its folder. */
export class HistoryBook {
  readonly folder: string;

  constructor(folder: string) {
    this.folder = folder;
    mkdirSync(folder, { recursive: true });
  }

  /** Adds an event to the history of an actor. The data is handed to the operating system before this returns. */
  write(actor: string, event: HistoryEvent): void {
    appendFileSync(join(this.folder, `${actor}.jsonl`), `${JSON.stringify(event)}\n`);
  }

  writeLedger(ending: Omit<Histories, 'events'>): void {
    writeFileSync(join(this.folder, 'ledger.json'), JSON.stringify(ending));
  }
}

/** Milliseconds of the clock that all histories share. */
export function nowMs(): number {
  return performance.now();
}

/** Reads the histories in a campaign's folder. */
export function readHistories(folder: string): Histories {
  const file = join(folder, 'ledger.json');
  if (!existsSync(file)) throw new Error(`${folder} has no ledger: the campaign did not come to its end`);
  const ending = JSON.parse(readFileSync(file, 'utf8')) as Omit<Histories, 'events'>;
  const events = readdirSync(folder)
    .filter((name) => name.endsWith('.jsonl'))
    .flatMap((name) => readFileSync(join(folder, name), 'utf8').split('\n').filter(Boolean))
    .map((line) => JSON.parse(line) as HistoryEvent);
  return { ...ending, events };
}
