import { checkTypes } from '../checks/index.ts';
import { agentRoutes } from './agent.ts';
import { agentErrorRoutes } from './agent-error.ts';
import { artifactRoutes, assetRoutes } from './artifact.ts';
import { checkRoutes, typedCheckRoutes } from './check.ts';
import { checkResultRoutes } from './check-result.ts';
import { checkStatusRoutes } from './check-status.ts';
import { agentBundleRoutes, codeBundleRoutes } from './code-bundle.ts';
import { locationRoutes } from './location.ts';
import { privateLocationRoutes } from './private-location.ts';
import type { Route } from './route.ts';

/** Every operation of the API, in the order of the reference. */
export const allRoutes: readonly Route[] = [
  ...Object.values(checkRoutes),
  ...checkTypes.flatMap((type) => Object.values(typedCheckRoutes(type))),
  ...Object.values(checkResultRoutes),
  ...Object.values(assetRoutes),
  ...Object.values(codeBundleRoutes),
  ...Object.values(checkStatusRoutes),
  ...Object.values(privateLocationRoutes),
  ...Object.values(locationRoutes),
  ...Object.values(agentRoutes),
  ...Object.values(agentErrorRoutes),
  ...Object.values(artifactRoutes),
  ...Object.values(agentBundleRoutes),
];
