import { RetryStrategy } from '@picket/checks/contract/definition/common-fields.ts';
import { failureCatalogue, isFailureCode } from '@picket/checks/contract/failure.ts';
import { storedJson } from '@picket/platform/store/stored-json.ts';

/** The strategy of a test session as any build stored it; null, which one that cannot be read counts as: no retries. */
export const storedRetryStrategy = storedJson('test_sessions.retry_strategy', RetryStrategy.nullable());

/** What decides whether a run is repeated. */
export interface FailedAttempt {
  readonly failure: { readonly code: string };
  /** 0 for the first try. */
  readonly attempt: number;
  /** Epoch milliseconds at which the first attempt was leased. */
  readonly firstStartMs: number;
  readonly nowMs: number;
  readonly retryStrategy: RetryStrategy | null;
  readonly doubleCheck: boolean;
  readonly runParallel: boolean;
  /** Where the attempt ran. */
  readonly location: string;
  /** Other locations of the check whose agents can take a run now. */
  readonly otherLocations: readonly string[];
}

export interface Retry {
  /** Epoch milliseconds. */
  readonly readyAtMs: number;
  readonly location: string;
}

interface Rules {
  readonly type: RetryStrategy['type'];
  readonly baseSeconds: number;
  readonly maxRetries: number;
  readonly maxDurationSeconds: number;
  readonly sameRegion: boolean;
  readonly onlyNetworkErrors: boolean;
}

const doubleCheckRules: Rules = {
  type: 'FIXED',
  baseSeconds: 0,
  maxRetries: 1,
  maxDurationSeconds: 600,
  sameRegion: false,
  onlyNetworkErrors: false,
};

/**
 * When and where a failed attempt is repeated, or null when its result is final (check model 2.1). A retry
 * that could not start before the first start plus maxDurationSeconds is not made. `doubleCheck` is one
 * immediate retry elsewhere, and only counts where there is no strategy.
 */
export function decideRetry(failed: FailedAttempt, random: () => number = Math.random): Retry | null {
  const rules = retryRules(failed);
  if (!rules || failed.attempt >= rules.maxRetries || isFinal(failed.failure.code)) return null;
  if (rules.onlyNetworkErrors && !isNetworkError(failed.failure.code)) return null;
  const readyAtMs = failed.nowMs + Math.round(waitSeconds(rules, failed.attempt + 1) * 1000);
  if (readyAtMs > failed.firstStartMs + rules.maxDurationSeconds * 1000) return null;
  const staysHere = rules.sameRegion || failed.runParallel || failed.otherLocations.length === 0;
  const other = failed.otherLocations[Math.floor(random() * failed.otherLocations.length)];
  return { readyAtMs, location: staysHere || other === undefined ? failed.location : other };
}

/** Whether a failure of that attempt may be followed by another one. */
export function mayBeRetried(run: Pick<FailedAttempt, 'attempt' | 'retryStrategy' | 'doubleCheck'>): boolean {
  const rules = retryRules(run);
  return rules !== null && run.attempt < rules.maxRetries;
}

/** A code of a newer agent that this build does not know is not taken for one. */
function isNetworkError(code: string): boolean {
  return isFailureCode(code) && failureCatalogue[code].isNetworkError;
}

/** Another agent would be the next that the run harms. */
function isFinal(code: string): boolean {
  return isFailureCode(code) && failureCatalogue[code].isFinal === true;
}

/** How a failed attempt is repeated; null: not at all. */
export function retryRules(failed: Pick<FailedAttempt, 'retryStrategy' | 'doubleCheck'>): Rules | null {
  const strategy = failed.retryStrategy;
  if (!strategy) return failed.doubleCheck ? doubleCheckRules : null;
  const isSingle = strategy.type === 'SINGLE_RETRY';
  return {
    type: strategy.type,
    baseSeconds: strategy.baseBackoffSeconds,
    maxRetries: isSingle ? 1 : (strategy.maxRetries ?? 2),
    maxDurationSeconds: isSingle ? 600 : (strategy.maxDurationSeconds ?? 600),
    sameRegion: strategy.sameRegion,
    onlyNetworkErrors: strategy.onlyOn !== undefined,
  };
}

/** The wait before the n-th retry: FIXED base; LINEAR base × n; EXPONENTIAL base to the power of n. */
function waitSeconds(rules: Rules, retry: number): number {
  if (rules.type === 'LINEAR') return rules.baseSeconds * retry;
  if (rules.type === 'EXPONENTIAL') return rules.baseSeconds ** retry;
  return rules.baseSeconds;
}
