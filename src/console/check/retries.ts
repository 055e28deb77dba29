import type { CheckType } from '@picket/checks/contract/check-type.ts';
import type { RetryStrategy } from '@picket/checks/contract/definition/common-fields.ts';
import { withGroups } from '@picket/service/checks/effective-check.ts';
import type { Check } from '@picket/service/checks/store.ts';
import { retryRules } from '@picket/service/runs/retries.ts';
import { counted, duration } from '../elements/format.ts';
import type { PageCall } from '../page.ts';

/** Describes the effective retries: by the strategy of the check or its group, or the one retry of `doubleCheck`. */
export async function retryWords({ store }: PageCall, check: Check, type: CheckType): Promise<string> {
  const [effective] = await withGroups(store, [check]);
  const { retryStrategy, doubleCheck, runParallel } = effective?.definition ?? check.definition;
  const strategy = (retryStrategy ?? null) as RetryStrategy | null;
  const rules =
    type.isRetried === false
      ? null
      : retryRules({ retryStrategy: strategy, doubleCheck: doubleCheck === true });
  if (rules === null) return 'none';
  const kind =
    rules.maxRetries === 1
      ? 'once'
      : `${rules.type.toLowerCase()}, up to ${counted(rules.maxRetries, 'time')}`;
  const wait = rules.baseSeconds === 0 ? 'at once' : `after ${duration(rules.baseSeconds * 1_000)}`;
  const place =
    rules.sameRegion || runParallel === true
      ? 'at the same location'
      : 'at another location where there is one';
  return `${kind}, ${wait}, ${place}${rules.onlyNetworkErrors ? ', after network errors only' : ''}`;
}
