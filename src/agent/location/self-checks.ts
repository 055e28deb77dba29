import type { CanaryTarget } from '../canary-targets.ts';
import {
  descriptorCheck,
  diskCheck,
  eventLoopCheck,
  memoryCheck,
  type SelfCheck,
  serviceCheck,
} from './host-checks.ts';
import { networkCheck, resolverCheck } from './network-checks.ts';

/** Everything an agent examines to find out whether its location is healthy. */
export function selfChecksOf(options: {
  readonly serviceUrl: string;
  readonly canaries: readonly CanaryTarget[];
  /** How long the service has been out of reach, and why; undefined before it ever was in reach. */
  readonly connection: () => { readonly awayMs: number | undefined; readonly problem: string };
  /** Why results cannot be kept on disk, while they cannot. */
  readonly diskProblem: () => string | undefined;
}): SelfCheck[] {
  const { serviceUrl, canaries, connection, diskProblem } = options;
  return [
    resolverCheck(new URL(serviceUrl).hostname),
    networkCheck(canaries),
    serviceCheck(connection),
    eventLoopCheck(),
    memoryCheck(),
    diskCheck(diskProblem),
    descriptorCheck(),
  ];
}
