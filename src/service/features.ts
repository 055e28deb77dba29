import type { Route } from '../protocol/http/route.ts';
import { accounts } from './accounts/feature.ts';
import { alerts } from './alerts/feature.ts';
import { analyses } from './analyses/feature.ts';
import { audit } from './audit/feature.ts';
import { checkMetrics } from './check-metrics/feature.ts';
import { checks } from './checks/feature.ts';
import { webConsole } from './console/feature.ts';
import { coverage } from './coverage/feature.ts';
import { customDomains } from './custom-domains/feature.ts';
import type { Feature } from './feature/feature.ts';
import { heartbeats } from './heartbeats/feature.ts';
import { http } from './http/feature.ts';
import { incidents } from './incidents/feature.ts';
import { locations } from './locations/feature.ts';
import { logins } from './logins/feature.ts';
import { mail } from './mail/feature.ts';
import { maintenance } from './maintenance/feature.ts';
import { mcp } from './mcp/feature.ts';
import { members } from './members/feature.ts';
import { metrics } from './metrics/feature.ts';
import { overviews } from './overviews/feature.ts';
import { pages } from './pages/feature.ts';
import { projects } from './projects/feature.ts';
import { resources } from './resources/feature.ts';
import { results } from './results/feature.ts';
import { retention } from './retention/feature.ts';
import { runs } from './runs/feature.ts';
import { sessions } from './sessions/feature.ts';
import { slos } from './slos/feature.ts';
import { traces } from './traces/feature.ts';

/**
 * Every noun of the service, each behind its door. In this order their parts are made, their operations stand in the
 * reference and their jobs start; they stop in the opposite order.
 */
export const features: readonly Feature[] = [
  metrics,
  http,
  mail,
  traces,
  checks,
  results,
  locations,
  runs,
  alerts,
  heartbeats,
  analyses,
  sessions,
  customDomains,
  pages,
  incidents,
  resources,
  slos,
  coverage,
  projects,
  maintenance,
  accounts,
  members,
  logins,
  audit,
  mcp,
  checkMetrics,
  retention,
  overviews,
  webConsole,
];

/** Every operation of the API. */
export const allRoutes: readonly Route[] = features.flatMap(({ routes }) => routes ?? []);
