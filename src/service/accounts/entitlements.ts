import { checkTypes } from '@picket/checks/index.ts';
import type { Entitlements } from '@picket/protocol/accounts/account.ts';
import { maxArtifactBytes } from '@picket/protocol/results/artifact.ts';
import type { z } from 'zod';

type Shown = z.input<typeof Entitlements.schema>;
type Entitlement = Shown['entitlements'][number];

export const planDisplayName = 'Self-hosted';

/** Limit of locations listed in the entitlements of an account. */
export const maxShownLocations = 1000;

/** Entitlements of an account: all features of this build, and its own private locations. */
export function entitlementsOf(
  locations: readonly { readonly slug_name: string; readonly name: string }[],
  { hasMailer }: { readonly hasMailer: boolean },
): Shown {
  return {
    plan: 'SELF_HOSTED',
    planDisplayName,
    addons: {},
    locations: {
      all: locations.map(({ slug_name: id, name }) => ({ id, name, available: true })),
      maxPerCheck: maxShownLocations,
    },
    entitlements: [
      ...checkTypes.map((type) => flag(`CHECK_TYPE_${type.name}`, type.title, true)),
      flag('STATUS_PAGE_SUBSCRIBERS', 'Mails to subscribers of status pages', hasMailer),
      flag('ROOT_CAUSE_ANALYSIS', 'Root cause analyses by rules', true),
      metered('CHECKS', 'Checks'),
      metered('PRIVATE_LOCATIONS', 'Private locations'),
      metered('DASHBOARDS', 'Dashboards'),
      metered('STATUS_PAGES', 'Status pages'),
      metered('ARTIFACT_BYTES', 'Bytes of one artifact', maxArtifactBytes),
    ],
  };
}

function flag(key: string, name: string, enabled: boolean): Entitlement {
  return { key, name, description: name, type: 'flag', enabled };
}

function metered(key: string, name: string, quantity?: number): Entitlement {
  return { key, name, description: name, type: 'metered', enabled: true, quantity };
}
