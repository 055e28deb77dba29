import { privateLocationRoutes } from '@picket/protocol/locations/private-location.ts';
import { incidentRoutes } from '@picket/protocol/pages/incident.ts';
import { ApiError } from '../api/api-error.ts';
import type { Run } from '../api/command.ts';
import { agoText, printable, table } from '../api/text.ts';

/** `picket locations` */
export const listLocations: Run = async (api) => {
  const locations = await api.call(privateLocationRoutes.listPrivateLocations, {
    query: { versions: 'true' },
  });
  const now = Date.now();
  const rows = locations.map(
    ({ slugName, name, health, agentCount, lastSeen, runningAgents = [], ...rest }) => [
      `${health.state.replace('-', ' ')}${rest.agentSettings.isDraining ? ', drained' : ''}`,
      String(agentCount),
      runningAgents
        .map(({ version, isOutdated }) => `${version}${isOutdated ? ' (outdated)' : ''}`)
        .join(', '),
      lastSeen === null ? 'never' : `${agoText(lastSeen, now)} ago`,
      slugName,
      name,
    ],
  );
  const lines = (width: number) =>
    rows.length === 0
      ? ['There are no private locations.']
      : table(['STATE', 'AGENTS', 'VERSION', 'LAST SEEN', 'LOCATION', 'NAME'], rows, width);
  return { json: locations, lines };
};

/** `picket drain LOCATION`: its agents finish what they run and take nothing new, until `--undo`. */
export const drainLocation: Run = async (api, [named = ''], { undo }) => {
  const locations = await api.call(privateLocationRoutes.listPrivateLocations, { query: {} });
  const location = locations.find(({ id, slugName }) => id === named || slugName === named);
  if (!location) {
    const known = locations.map(({ slugName }) => slugName).join(', ');
    const instead = known === '' ? 'The account has no private location.' : `Name one of ${known}.`;
    throw new ApiError(`There is no private location "${printable(named)}". ${instead}`, true);
  }
  const isDraining = undo !== true;
  const agentSettings = { ...location.agentSettings, isDraining };
  await api.call(privateLocationRoutes.updatePrivateLocation, {
    params: { id: location.id },
    body: { agentSettings },
  });
  const outcome = isDraining
    ? 'is drained: its agents finish what they run. It takes nothing new until "picket drain --undo".'
    : 'takes new runs.';
  return {
    json: { id: location.id, agentSettings },
    lines: () => [`${printable(location.name)} ${outcome}`],
  };
};

/** `picket incidents` */
export const listIncidents: Run = async (api, _given, { all }) => {
  const entries = await api.allEntries(incidentRoutes.listIncidents);
  const shown = entries.filter(({ duration }) => all === true || duration === null);
  const lines = (width: number) =>
    shown.length === 0
      ? ['There are no open incidents.']
      : table(
          ['STATUS', 'SEVERITY', 'SINCE', 'AFFECTED', 'NAME'],
          shown.map((one) => [
            one.lastUpdateStatus.toLowerCase().replaceAll('_', ' '),
            one.severity.toLowerCase(),
            one.created_at.replace(/:\d\d\.\d+Z$/, 'Z'),
            [...one.services, ...one.components].map(({ name }) => name).join(', '),
            one.name,
          ]),
          width,
        );
  return { json: shown, lines };
};
