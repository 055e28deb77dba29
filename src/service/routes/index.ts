import { accountHandlers } from './accounts.ts';
import { agentHandlers } from './agent.ts';
import { agentErrorHandlers } from './agent-errors.ts';
import { artifactHandlers, assetHandlers } from './assets.ts';
import { checkGroupHandlers } from './check-groups.ts';
import { checkResultHandlers } from './check-results.ts';
import { checkStatusHandlers } from './check-statuses.ts';
import { checkHandlers } from './checks.ts';
import { clientCertificateHandlers } from './client-certificates.ts';
import type { AnyHandler, HandlerDeps } from './handler.ts';
import { locationHandlers } from './locations.ts';
import { maintenanceWindowHandlers } from './maintenance-windows.ts';
import { privateLocationHandlers } from './private-locations.ts';
import { runtimeHandlers } from './runtimes.ts';
import { snippetHandlers } from './snippets.ts';
import { variableHandlers } from './variables.ts';

/** The handler of every operation, by operationId. */
export function allHandlers(deps: HandlerDeps): ReadonlyMap<string, AnyHandler> {
  return new Map([
    ...checkHandlers(deps),
    ...checkResultHandlers(deps),
    ...assetHandlers(deps),
    ...checkStatusHandlers(deps),
    ...privateLocationHandlers(deps),
    ...locationHandlers(),
    ...checkGroupHandlers(deps),
    ...maintenanceWindowHandlers(deps),
    ...variableHandlers(deps),
    ...snippetHandlers(deps),
    ...clientCertificateHandlers(deps),
    ...runtimeHandlers(),
    ...accountHandlers(deps),
    ...agentHandlers(deps),
    ...agentErrorHandlers(deps),
    ...artifactHandlers(deps),
  ]);
}
