import type { ChannelSettings } from '@picket/channels/contract/channel.ts';
import type { Feature, RepositoriesOf } from '@picket/platform/feature/feature.ts';
import { alertRoutes } from '@picket/protocol/alerts/alert.ts';
import { alertCauseRoutes } from '@picket/protocol/alerts/alert-cause.ts';
import { alertChannelRoutes } from '@picket/protocol/alerts/alert-channel.ts';
import { alertEntryRoutes } from '@picket/protocol/alerts/alert-entry.ts';
import { alertHandlingRoutes } from '@picket/protocol/alerts/alert-handling.ts';
import { monitoringGapRoutes } from '@picket/protocol/alerts/monitoring-gap.ts';
import { CauseWatch } from './causes/cause-watch.ts';
import { alertCauseHandlers } from './causes/routes.ts';
import { AlertCauses } from './causes/store.ts';
import { alertChannelHandlers } from './channels/routes.ts';
import { AlertChannels } from './channels/store.ts';
import { configuredNotifier } from './delivery/configured-notifier.ts';
import { AlertNotifications } from './delivery/store.ts';
import { templateThread } from './delivery/template-thread.ts';
import { alertEntryHandlers } from './entries/routes.ts';
import { AlertEntries } from './entries/store.ts';
import { recordAgentless } from './gaps/agentless.ts';
import { monitoringGapHandlers } from './gaps/routes.ts';
import { MonitoringGaps } from './gaps/store.ts';
import { alertHandlingHandlers } from './handling/routes.ts';
import { AlertActions, AlertLinkKeys, Silences } from './handling/store.ts';
import { ReceiverIncidents } from './receivers/store.ts';
import { alertHandlers } from './routes.ts';
import { Alerts } from './store.ts';
import { AlertTimers } from './timers.ts';

const repositories = {
  alertChannels: AlertChannels,
  alerts: Alerts,
  alertCauses: AlertCauses,
  alertEntries: AlertEntries,
  notifications: AlertNotifications,
  receiverIncidents: ReceiverIncidents,
  silences: Silences,
  gaps: MonitoringGaps,
  alertActions: AlertActions,
  alertLinkKeys: AlertLinkKeys,
};

export const alerts: Feature = {
  name: 'alerts',
  repositories,
  parts: {
    channelSettings: ({ config }) => config,
    recordAgentless: () => recordAgentless,
  },
  connect: ({ metrics }) => metrics.queues.push(templateThread),
  routes: [
    ...Object.values(alertChannelRoutes),
    ...Object.values(alertRoutes),
    ...Object.values(alertHandlingRoutes),
    ...Object.values(monitoringGapRoutes),
    ...Object.values(alertCauseRoutes),
    ...Object.values(alertEntryRoutes),
  ],
  handlers: (parts) => [
    ...alertChannelHandlers(parts),
    ...alertHandlers(parts),
    ...alertHandlingHandlers(parts),
    ...monitoringGapHandlers(parts),
    ...alertCauseHandlers(parts),
    ...alertEntryHandlers(parts),
  ],
  jobs: (parts) => [
    {
      ...{ name: 'notifier', leaderOnly: false, wakesOn: ['alerts'], longestMs: 10_000 },
      work: configuredNotifier({ ...parts, mail: parts.mailServer, asksModel: parts.model !== undefined }),
    },
    {
      ...{ name: 'alert timers', leaderOnly: false, wakesOn: ['alerts'], longestMs: 5_000 },
      work: new AlertTimers(parts),
    },
    {
      ...{ name: 'alert causes', leaderOnly: true, wakesOn: ['alerts'], longestMs: 5_000 },
      work: new CauseWatch({ ...parts, runNow: parts.runAfterCause }),
    },
  ],
};

declare module '@picket/platform/store/repositories.ts' {
  interface Repositories extends RepositoriesOf<typeof repositories> {}
}

declare module '@picket/platform/feature/parts.ts' {
  interface Parts {
    readonly channelSettings: ChannelSettings;
    readonly recordAgentless: typeof recordAgentless;
  }
}
