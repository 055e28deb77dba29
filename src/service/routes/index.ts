import { agentHandlers } from './agent.ts';
import { agentErrorHandlers } from './agent-errors.ts';
import { artifactHandlers, assetHandlers } from './assets.ts';
import { checkResultHandlers } from './check-results.ts';
import { checkStatusHandlers } from './check-statuses.ts';
import { checkHandlers } from './checks.ts';
import { codeBundleHandlers } from './code-bundles.ts';
import type { AnyHandler, HandlerDeps } from './handler.ts';
import { locationHandlers } from './locations.ts';
import { privateLocationHandlers } from './private-locations.ts';

/** The handler of every operation, by operationId. */
export function allHandlers(deps: HandlerDeps): ReadonlyMap<string, AnyHandler> {
  return new Map([
    ...checkHandlers(deps),
    ...checkResultHandlers(deps),
    ...assetHandlers(deps),
    ...checkStatusHandlers(deps),
    ...privateLocationHandlers(deps),
    ...locationHandlers(),
    ...agentHandlers(deps),
    ...agentErrorHandlers(deps),
    ...artifactHandlers(deps),
    ...codeBundleHandlers(deps),
  ]);
}
