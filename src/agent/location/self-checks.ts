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

/** All self-checks that determine whether an agent's location is healthy. */
export function selfChecksOf(options: {
  readonly serviceUrl: string;
  readonly canaries: readonly CanaryTarget[];
  /** How long the service has been unreachable, and why; undefined before the first contact. */
  readonly connection: () => { readonly awayMs: number | undefined; readonly problem: string };
  /** Why results cannot be kept on disk; undefined while they can. */
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
