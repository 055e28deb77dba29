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
import { mail } from './mail/feature.ts';
import { maintenance } from './maintenance/feature.ts';
import { members } from './members/feature.ts';
import { pages } from './pages/feature.ts';
import { projects } from './projects/feature.ts';
import { resources } from './resources/feature.ts';
import { results } from './results/feature.ts';
import { retention } from './retention/feature.ts';
import { runs } from './runs/feature.ts';
import { sessions } from './sessions/feature.ts';
import { slos } from './slos/feature.ts';

/** Every noun of the service, each behind its door. */
export const features: readonly Feature[] = [
  accounts,
  alerts,
  analyses,
  audit,
  checkMetrics,
  checks,
  webConsole,
  coverage,
  customDomains,
  heartbeats,
  http,
  incidents,
  locations,
  mail,
  maintenance,
  members,
  pages,
  projects,
  resources,
  results,
  retention,
  runs,
  sessions,
  slos,
];
