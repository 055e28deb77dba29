import { isDeepStrictEqual } from 'node:util';
import { storedJson } from '@picket/platform/store/stored-json.ts';
import { LocationAgentSettings, noAgentSettings } from '@picket/protocol/agent/agent-settings.ts';

const readSettings = storedJson('private_locations.agent_settings', LocationAgentSettings);

/** What a location asks of its agents; null if it asks nothing. */
export function agentSettingsOf(row: {
  readonly agent_settings: string | null;
}): LocationAgentSettings | null {
  return row.agent_settings === null ? null : readSettings(row.agent_settings);
}

/** The same for the store. */
export function storedSettings(settings: LocationAgentSettings): string | null {
  return isDeepStrictEqual(settings, noAgentSettings) ? null : JSON.stringify(settings);
}
