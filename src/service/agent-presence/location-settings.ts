import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { storedJson } from '@picket/platform/store/stored-json.ts';
import {
  LocationAgentSettings,
  noAgentSettings,
  type SentAgentSettings,
} from '@picket/protocol/agent/agent-settings.ts';

const readSettings = storedJson('private_locations.agent_settings', LocationAgentSettings);

/** The settings that a location asks of its agents; null without any. */
export function agentSettingsOf(row: {
  readonly agent_settings: string | null;
}): LocationAgentSettings | null {
  return row.agent_settings === null ? null : readSettings(row.agent_settings);
}

/** The same as agents get it. */
export function sentSettings(row: { readonly agent_settings: string | null }): SentAgentSettings | null {
  const settings = agentSettingsOf(row);
  return settings && { ...settings, revision: revisionOf(row) };
}

/** Changes with the settings; empty without any. */
export function revisionOf({ agent_settings: text }: { readonly agent_settings: string | null }): string {
  return text === null ? '' : createHash('sha256').update(text).digest('hex').slice(0, 16);
}

/** The same for the store. */
export function storedSettings(settings: LocationAgentSettings): string | null {
  return isDeepStrictEqual(settings, noAgentSettings) ? null : JSON.stringify(settings);
}
