import { webConsole } from '../console/feature.ts';
import type { Feature } from '../platform/feature/feature.ts';
import { http } from '../platform/http/feature.ts';
import type { Route } from '../protocol/http/route.ts';
import { accounts } from '../service/accounts/feature.ts';
import { alerts } from '../service/alerts/feature.ts';
import { analyses } from '../service/analyses/feature.ts';
import { audit } from '../service/audit/feature.ts';
import { checkMetrics } from '../service/check-metrics/feature.ts';
import { checks } from '../service/checks/feature.ts';
import { coverage } from '../service/coverage/feature.ts';
import { customDomains } from '../service/custom-domains/feature.ts';
import { heartbeats } from '../service/heartbeats/feature.ts';
import { incidents } from '../service/incidents/feature.ts';
import { locations } from '../service/locations/feature.ts';
import { logins } from '../service/logins/feature.ts';
import { mail } from '../service/mail/feature.ts';
import { maintenance } from '../service/maintenance/feature.ts';
import { mcp } from '../service/mcp/feature.ts';
import { members } from '../service/members/feature.ts';
import { metrics } from '../service/metrics/feature.ts';
import { overviews } from '../service/overviews/feature.ts';
import { pages } from '../service/pages/feature.ts';
import { projects } from '../service/projects/feature.ts';
import { resources } from '../service/resources/feature.ts';
import { results } from '../service/results/feature.ts';
import { retention } from '../service/retention/feature.ts';
import { runs } from '../service/runs/feature.ts';
import { sessions } from '../service/sessions/feature.ts';
import { slos } from '../service/slos/feature.ts';
import { traces } from '../service/traces/feature.ts';

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
