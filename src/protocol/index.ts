import { checkTypes } from '../checks/index.ts';
import { accountRoutes } from './account.ts';
import { agentRoutes } from './agent.ts';
import { agentErrorRoutes } from './agent-error.ts';
import { artifactRoutes, assetRoutes } from './artifact.ts';
import { checkRoutes, typedCheckRoutes } from './check.ts';
import { checkGroupRoutes } from './check-group.ts';
import { checkResultRoutes } from './check-result.ts';
import { checkStatusRoutes } from './check-status.ts';
import { clientCertificateRoutes } from './client-certificate.ts';
import { locationRoutes } from './location.ts';
import { maintenanceWindowRoutes } from './maintenance-window.ts';
import { privateLocationRoutes } from './private-location.ts';
import type { Route } from './route.ts';
import { runtimeRoutes } from './runtime.ts';
import { snippetRoutes } from './snippet.ts';
import { variableRoutes } from './variable.ts';

/** Every operation of the API, in the order of the reference. */
export const allRoutes: readonly Route[] = [
  ...Object.values(checkRoutes),
  ...checkTypes.flatMap((type) => Object.values(typedCheckRoutes(type))),
  ...Object.values(checkResultRoutes),
  ...Object.values(assetRoutes),
  ...Object.values(checkStatusRoutes),
  ...Object.values(privateLocationRoutes),
  ...Object.values(locationRoutes),
  ...Object.values(checkGroupRoutes),
  ...Object.values(maintenanceWindowRoutes),
  ...Object.values(variableRoutes),
  ...Object.values(snippetRoutes),
  ...Object.values(clientCertificateRoutes),
  ...Object.values(runtimeRoutes),
  ...Object.values(accountRoutes),
  ...Object.values(agentRoutes),
  ...Object.values(agentErrorRoutes),
  ...Object.values(artifactRoutes),
];
