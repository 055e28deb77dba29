import { webConsole } from '@picket/console/feature.ts';
import type { Feature } from '@picket/platform/feature/feature.ts';
import { http } from '@picket/platform/http/feature.ts';
import type { Route } from '@picket/protocol/http/route.ts';
import { accounts } from '@picket/service/accounts/feature.ts';
import { alerts } from '@picket/service/alerts/feature.ts';
import { analyses } from '@picket/service/analyses/feature.ts';
import { audit } from '@picket/service/audit/feature.ts';
import { checkMetrics } from '@picket/service/check-metrics/feature.ts';
import { checks } from '@picket/service/checks/feature.ts';
import { coverage } from '@picket/service/coverage/feature.ts';
import { customDomains } from '@picket/service/custom-domains/feature.ts';
import { heartbeats } from '@picket/service/heartbeats/feature.ts';
import { incidents } from '@picket/service/incidents/feature.ts';
import { liveLogs } from '@picket/service/live-logs/feature.ts';
import { locations } from '@picket/service/locations/feature.ts';
import { logins } from '@picket/service/logins/feature.ts';
import { mail } from '@picket/service/mail/feature.ts';
import { maintenance } from '@picket/service/maintenance/feature.ts';
import { mcp } from '@picket/service/mcp/feature.ts';
import { members } from '@picket/service/members/feature.ts';
import { metrics } from '@picket/service/metrics/feature.ts';
import { overviews } from '@picket/service/overviews/feature.ts';
import { pages } from '@picket/service/pages/feature.ts';
import { projects } from '@picket/service/projects/feature.ts';
import { resources } from '@picket/service/resources/feature.ts';
import { results } from '@picket/service/results/feature.ts';
import { retention } from '@picket/service/retention/feature.ts';
import { runs } from '@picket/service/runs/feature.ts';
import { sessions } from '@picket/service/sessions/feature.ts';
import { slos } from '@picket/service/slos/feature.ts';
import { traces } from '@picket/service/traces/feature.ts';

/**
 * Every feature of the service, in the order in which parts are created, operations are listed in the reference and
 * jobs start; jobs stop in reverse order.
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
  liveLogs,
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
