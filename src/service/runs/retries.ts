import { RetryStrategy } from '@picket/checks/contract/definition/common-fields.ts';
import { failureCatalogue, isFailureCode } from '@picket/checks/contract/failure.ts';
import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { storedJson } from '@picket/platform/store/stored-json.ts';

/** Retry strategy of a test session as any build stored it; null means no retries, as does an unreadable value. */
export const storedRetryStrategy = storedJson(
  'test_sessions.retry_strategy',
  lazySchema(() => RetryStrategy.schema.nullable()),
);

/** Inputs of the decision whether a run is retried. */
export interface FailedAttempt {
  readonly failure: { readonly code: string };
  /** 0 for the first attempt. */
  readonly attempt: number;
  /** Epoch milliseconds at which the first attempt was leased. */
  readonly firstStartMs: number;
  readonly nowMs: number;
  readonly retryStrategy: RetryStrategy | null;
  readonly doubleCheck: boolean;
  readonly runParallel: boolean;
  /** Location of the attempt. */
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
 * When and where a failed attempt is retried, or null if its result is final (check model 2.1). A retry that could not
 * start within maxDurationSeconds of the first start is not made. `doubleCheck` is one immediate retry elsewhere, and
 * applies only without a strategy.
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

/** Whether a failure of this attempt may be followed by another attempt. */
export function mayBeRetried(run: Pick<FailedAttempt, 'attempt' | 'retryStrategy' | 'doubleCheck'>): boolean {
  const rules = retryRules(run);
  return rules !== null && run.attempt < rules.maxRetries;
}

/** An unknown code of a newer agent does not count as a network error. */
function isNetworkError(code: string): boolean {
  return isFailureCode(code) && failureCatalogue[code].isNetworkError;
}

/** Such a run would harm the next agent, too. */
function isFinal(code: string): boolean {
  return isFailureCode(code) && failureCatalogue[code].isFinal === true;
}

/** Retry rules of a failed attempt; null: no retries. */
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

/** Delay before the n-th retry: FIXED base; LINEAR base × n; EXPONENTIAL base to the power of n. */
function waitSeconds(rules: Rules, retry: number): number {
  if (rules.type === 'LINEAR') return rules.baseSeconds * retry;
  if (rules.type === 'EXPONENTIAL') return rules.baseSeconds ** retry;
  return rules.baseSeconds;
}
