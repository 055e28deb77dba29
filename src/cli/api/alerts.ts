import { alertCauseRoutes } from '@picket/protocol/alerts/alert-cause.ts';
import { alertHandlingRoutes } from '@picket/protocol/alerts/alert-handling.ts';
import { monitoringGapRoutes } from '@picket/protocol/alerts/monitoring-gap.ts';
import { sloRoutes } from '@picket/protocol/results/slo.ts';
import type { Run } from './command.ts';
import { findCheck } from './find-check.ts';
import { agoText, knownBy, printable, table } from './text.ts';

/** `picket alerts` */
export const showAlerts: Run = async (api) => {
  const openAlerts = await api.all(alertHandlingRoutes.listOpenAlerts);
  const causes = (await api.all(alertCauseRoutes.listAlertCauses, { isOpen: 'true' })).filter(
    ({ memberCount }) => memberCount > 1,
  );
  const monitoringGaps = await api.all(monitoringGapRoutes.listMonitoringGaps);
  const sloBurns = await api.all(sloRoutes.listSloBurns);
  const now = Date.now();
  const lines = (width: number) => {
    const parts = [
      openAlerts.length === 0
        ? ['No check is failing or degraded.']
        : table(
            ['STATE', 'SINCE', 'NOTIFIED', 'CHECK', 'ID'],
            openAlerts.map((one) => [
              one.isFlapping ? 'FLAPPING' : one.state,
              one.since === null ? '' : agoText(one.since, now),
              knownBy(one),
              one.name,
              one.checkId,
            ]),
            width,
          ),
      causes.length === 0
        ? []
        : table(
            ['CHECKS', 'SINCE', 'CAUSE'],
            causes.map((one) => [String(one.memberCount), agoText(one.startedAt, now), one.reason]),
            width,
          ),
      monitoringGaps.length === 0
        ? []
        : table(
            ['ID', 'UNMEASURED', 'LOCATION', 'REASON'],
            monitoringGaps.map((one) => [
              one.checkId,
              agoText(one.since, now),
              one.location,
              one.explanation,
            ]),
            width,
          ),
      sloBurns.length === 0
        ? []
        : table(
            ['BUDGET BURNS', 'SINCE', 'WHAT FAILED'],
            sloBurns.map((one) => [one.name, agoText(one.since, now), one.explanation]),
            width,
          ),
    ].filter((part) => part.length > 0);
    return parts.flatMap((part, index) => (index === 0 ? part : ['', ...part]));
  };
  return { json: { openAlerts, causes, monitoringGaps, sloBurns }, lines };
};

/** `picket ack CHECK` */
export const acknowledge: Run = async (api, [named = ''], { comment, undo }) => {
  const { id, name } = await findCheck(api, named);
  const params = { id };
  if (undo === true) {
    await api.call(alertHandlingRoutes.withdrawAcknowledgement, { params });
    return {
      json: { checkId: id, acknowledgement: null },
      lines: () => [`${printable(name)}: acknowledgement withdrawn.`],
    };
  }
  const body = comment === undefined ? {} : { comment };
  const alert = await api.call(alertHandlingRoutes.acknowledgeAlert, { params, body });
  return {
    json: alert,
    lines: () => [`${printable(name)}: acknowledged. No reminders and no escalation until it recovers.`],
  };
};
