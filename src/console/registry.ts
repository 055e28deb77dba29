import { accountPages } from './account/page.ts';
import { planPages } from './agentic/plan-section.ts';
import { alertPages } from './alerts/page.ts';
import { checkPages } from './check/page.ts';
import { dashboardPages } from './dashboards/page.ts';
import { editorPages } from './editor/page.ts';
import { incidentPages } from './incidents/page.ts';
import { locationPages } from './locations/page.ts';
import { maintenancePages } from './maintenance/page.ts';
import { overviewPages } from './overview/page.ts';
import type { Page } from './page.ts';
import { reportPages } from './report/page.ts';
import { rootCausePages } from './root-causes/page.ts';
import { runPages } from './run/page.ts';
import { searchPages } from './search/page.ts';
import { servicePages } from './services/page.ts';
import { sessionPages } from './sessions/page.ts';
import { settingsPages } from './settings/page.ts';
import { slotPages } from './slots/page.ts';
import { startPages } from './start/page.ts';
import { statusPagePages } from './status-pages/page.ts';

/** Every page, in the order of the navigation. To add one, add its folder and its line here. */
export const pages: readonly Page[] = [
  ...startPages,
  ...overviewPages,
  ...searchPages(() => pages),
  ...checkPages,
  ...editorPages,
  ...runPages,
  ...slotPages,
  ...rootCausePages,
  ...planPages,
  ...alertPages,
  ...locationPages,
  ...statusPagePages,
  ...sessionPages,
  ...reportPages,
  ...dashboardPages,
  ...incidentPages,
  ...maintenancePages,
  ...servicePages,
  ...settingsPages,
  ...accountPages,
];
