import type { AgentSettings } from '../config.ts';
import { descriptorCheck, diskCheck, eventLoopCheck, memoryCheck, serviceCheck } from './host-checks.ts';
import { networkCheck, resolverCheck } from './network-checks.ts';
import type { SelfCheck } from './self-check.ts';

/** Everything an agent looks at to find out how its location is. */
export function selfChecksOf(options: {
  readonly settings: AgentSettings;
  /** How long the service has been out of reach, and why; undefined before it ever was in reach. */
  readonly connection: () => { readonly awayMs: number | undefined; readonly problem: string };
  /** Why results cannot be kept on disk, while they cannot. */
  readonly diskProblem: () => string | undefined;
}): SelfCheck[] {
  const { settings, connection, diskProblem } = options;
  return [
    resolverCheck(new URL(settings.serviceUrl).hostname),
    networkCheck(settings.canaries),
    serviceCheck(connection),
    eventLoopCheck(),
    memoryCheck(),
    diskCheck(diskProblem),
    descriptorCheck(),
  ];
}
