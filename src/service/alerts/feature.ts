import { defineFeature, type RepositoriesOf } from '../feature/feature.ts';
import { AlertCauses } from './causes/store.ts';
import { AlertChannels } from './channels/store.ts';
import { AlertNotifications } from './delivery/store.ts';
import { MonitoringGaps } from './gaps/store.ts';
import { AlertActions, AlertLinkKeys, Silences } from './handling/store.ts';
import { ReceiverIncidents } from './receivers/store.ts';
import { Alerts } from './store.ts';

export const alerts = defineFeature({
  name: 'alerts',
  repositories: {
    alertChannels: AlertChannels,
    alerts: Alerts,
    alertCauses: AlertCauses,
    notifications: AlertNotifications,
    receiverIncidents: ReceiverIncidents,
    silences: Silences,
    gaps: MonitoringGaps,
    alertActions: AlertActions,
    alertLinkKeys: AlertLinkKeys,
  },
});

declare module '../store/repositories.ts' {
  interface Repositories extends RepositoriesOf<typeof alerts> {}
}
