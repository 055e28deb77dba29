import { definitionSchema } from '@picket/checks/contract/definition/definition.ts';
import { findCheckType } from '@picket/checks/index.ts';
import { isRecord } from '@picket/lib/json/record.ts';
import { CheckGroupInput } from '@picket/protocol/checks/check-group.ts';
import type { Fields } from '@picket/protocol/projects/kind.ts';
import type { ApiClient } from '../api/client.ts';
import { AccountProxies, storedVariables } from './account-facts.ts';
import { signDefinition } from './sign-definition.ts';
import { signingOptions } from './signing-options.ts';

/** A service could run a signed definition again: not for longer than a test session takes. */
const validMs = 3_600_000;
const nothingShared = { snippets: [], certificates: [] } as const;

/**
 * Returns a function that signs the definitions of a test session; without a key, it leaves them as they are. Their
 * names differ from those of deployed checks, whose versions they must not outdate.
 */
export async function definitionSigner<Job extends Fields & { readonly logicalId: string }>(
  api: ApiClient,
  location: string,
  keyFile: string | undefined,
): Promise<(job: Job) => Job> {
  const options = await signingOptions(keyFile === undefined ? {} : { sign: keyFile });
  if (!options) return (job) => job;
  const openVariables = await storedVariables(api);
  const proxies = await new AccountProxies(api).of([location]);
  return (job) => {
    const { group, logicalId, checkType, ...fields } = job;
    const type = findCheckType(String(checkType));
    if (!type) return job;
    const signature = signDefinition(
      {
        subject: `test::${logicalId}`,
        type,
        definition: definitionSchema(type).parse(fields),
        group: isRecord(group) ? CheckGroupInput.parse(group) : undefined,
        shared: nothingShared,
        openVariables,
        proxies,
      },
      { ...options, notAfter: options.serial + validMs },
    );
    return { ...job, signature };
  };
}
