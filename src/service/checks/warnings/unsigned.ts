import type { Repositories } from '@picket/platform/store/repositories.ts';
import type { Warning } from '@picket/protocol/http/warning.ts';
import { type Distrust, judgeRun, type TrustedKey } from '@picket/protocol/signing/check-signature.ts';
import { type AccountResources, composedRun } from '../composed-run.ts';
import { groupOf, groupsOf, runtimeOf } from '../effective-check.ts';
import type { CheckGroup } from '../groups/store.ts';
import type { Check } from '../store.ts';

/** A check at locations where all agents that can run it run only signed checks. */
export interface AtSigningPlaces {
  readonly check: Check;
  readonly places: readonly {
    readonly place: string;
    /** The keys that each of these agents trusts. */
    readonly keys: readonly (readonly TrustedKey[])[];
  }[];
}

/**
 * Warnings for checks that all agents of a location would refuse, by check id. The agents verify signatures; the
 * service knows only the ids of their keys, and compares the check with what was signed.
 */
export async function unsignedWarnings(
  repositories: Pick<Repositories, 'certificates' | 'groups' | 'snippets' | 'variables'>,
  wanted: readonly AtSigningPlaces[],
  now: number,
): Promise<Map<string, Warning[]>> {
  if (wanted.length === 0) return new Map();
  const checks = wanted.map(({ check }) => check);
  const groups = await groupsOf(repositories, checks);
  const resources = new Map<string, AccountResources>();
  for (const accountId of new Set(checks.map((check) => check.accountId))) {
    resources.set(accountId, await resourcesOf(repositories, accountId));
  }
  return new Map(
    wanted.flatMap(({ check, places }) => {
      const ofAccount = resources.get(check.accountId);
      const run = ofAccount && judgedRun(check, groupOf(check, groups), ofAccount);
      if (!run) return [];
      const warnings = places.flatMap(({ place, keys }) => {
        const judged = keys.map((some) => judgeRun(run, some, now));
        const [first] = judged.flatMap((one) => ('distrust' in one ? [one.distrust] : []));
        const isRefused = first !== undefined && judged.every((one) => 'distrust' in one);
        return isRefused ? [warningOf(place, first)] : [];
      });
      return warnings.length === 0 ? [] : [[check.id, warnings] as const];
    }),
  );
}

async function resourcesOf(
  repositories: Pick<Repositories, 'certificates' | 'snippets' | 'variables'>,
  accountId: string,
): Promise<AccountResources> {
  return {
    variables: await repositories.variables.ofAccounts([accountId]),
    snippets: (await repositories.snippets.ofAccounts([accountId])).toReversed(),
    certificates: await repositories.certificates.ofAccounts([accountId]),
  };
}

/** The run as agents of any location get it; the proxy depends on the location and is left out. */
function judgedRun(check: Check, group: CheckGroup | undefined, resources: AccountResources) {
  const { effective, ...run } = composedRun(check, group, resources);
  const { signature } = effective.definition;
  return {
    ...run,
    check: { id: check.id, name: check.name, ...run.check },
    location: { name: '', proxyUrl: null },
    runtimeId: runtimeOf(effective),
    signature: typeof signature === 'string' ? signature : null,
  };
}

function warningOf(place: string, { message }: Distrust): Warning {
  return {
    code: 'NOT_SIGNED',
    field: 'signature',
    message: `The agents of the private location ${place} run only signed checks, and refuse this one. ${message} Sign it with "picket deploy --sign" and a key that they trust.`,
  };
}
