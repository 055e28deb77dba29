import { isDeepStrictEqual } from 'node:util';
import { storedJson } from '@picket/platform/store/stored-json.ts';
import { AgentSettings, noAgentSettings } from '@picket/protocol/agent/agent-settings.ts';

const readSettings = storedJson('private_locations.agent_settings', AgentSettings);

/** What a location asks of its agents; null if it asks nothing. */
export function agentSettingsOf(row: { readonly agent_settings: string | null }): AgentSettings | null {
  return row.agent_settings === null ? null : readSettings(row.agent_settings);
}

/** The same for the store. */
export function storedSettings(settings: AgentSettings): string | null {
  return isDeepStrictEqual(settings, noAgentSettings) ? null : JSON.stringify(settings);
}
