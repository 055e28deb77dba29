import { systemClock } from '@picket/lib/clock.ts';
import { createLogger } from '@picket/lib/log.ts';
import { Scrubber } from '../scrub/scrubber.ts';
import { SecretReferences } from './secret-references.ts';
import { providerCredentials, readReferences } from './settings.ts';

/**
 * Opens the secrets that an environment declares by reference, for runs without an agent. Each is fetched when the first
 * run needs it, and once.
 *
 * @param literalNames names of the secrets that are declared with their value.
 * @throws AppError CONFIG_INVALID listing every problem.
 */
export function openReferences(
  environment: Readonly<Record<string, string | undefined>>,
  literalNames: readonly string[],
): SecretReferences {
  const access = readReferences(environment, literalNames);
  return new SecretReferences({
    access,
    clock: systemClock,
    epochMs: () => systemClock.wallMs(),
    log: createLogger('picket', 'silent'),
    scrubber: new Scrubber(providerCredentials(access)),
  });
}
