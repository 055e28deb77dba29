import { findCheckType } from '@picket/checks/index.ts';
import { howToInstall } from '@picket/checks/tables/browsers.ts';
import { regions } from '@picket/checks/tables/regions.ts';
import type { Repositories } from '@picket/platform/store/repositories.ts';
import type { Warning } from '@picket/protocol/http/warning.ts';
import { metNeeds, needOfText } from '../../agent-presence/needed-browsers.ts';
import { agentCapabilities, agentCheckTypes, agentSeenWindowMs } from '../../agent-presence/presence.ts';
import type { AgentRow } from '../../agent-presence/tables.ts';
import { type EffectiveCheck, withGroups } from '../effective-check.ts';
import type { Check } from '../store.ts';
import { locationsOf } from '../timing/slots.ts';
import { neverDueWarnings } from './never-due.ts';
import { type AtSigningPlaces, unsignedWarnings } from './unsigned.ts';

/** Capabilities that an agent must have to run a check. */
export interface Need {
  readonly checkType: string;
  /** A runtime, browsers, or both (agent-presence/needed-browsers.ts). */
  readonly runtimeId: string | null;
}

/** Needs of a check that agents run; undefined for other types and for deactivated checks. */
export function needOf(check: EffectiveCheck<Pick<Check, 'checkType' | 'activated'>>): Need | undefined {
  const type = findCheckType(check.checkType);
  const isRun = check.activated && type !== undefined && type.pings === undefined;
  return isRun ? { checkType: type.name, runtimeId: check.neededRuntimeId } : undefined;
}

/** Whether an agent reported the capabilities that a check needs. */
export function canRun(agent: Pick<AgentRow, 'check_types' | 'capabilities'>, need: Need): boolean {
  const types = agentCheckTypes(agent.check_types);
  if (!types.includes(need.checkType)) return false;
  if (need.runtimeId === null) return true;
  const { runtimes, browsers } = agentCapabilities(agent);
  return metNeeds(runtimes, browsers).includes(need.runtimeId);
}

/**
 * Reasons why activated checks currently do not run, by check id, with the settings of their groups applied. Checks
 * without warnings are omitted.
 */
export async function warningsOf(
  repositories: Pick<Repositories, 'certificates' | 'groups' | 'locations' | 'snippets' | 'variables'>,
  checks: readonly Check[],
  now: number,
): Promise<Map<string, Warning[]>> {
  const wanted = (await withGroups(repositories, checks)).flatMap((check) => {
    const need = needOf(check);
    return need ? [{ check, need, places: locationsOf(check.definition) }] : [];
  });
  const ids = await repositories.locations.idsBySlug(wanted.map(({ check }) => check.accountId));
  const idOf = (check: Check, place: string) => ids.get(`${check.accountId}/${place}`);
  const named = wanted.flatMap(({ check, places }) => places.flatMap((place) => idOf(check, place) ?? []));
  const rows = await repositories.locations.agents(named, now - agentSeenWindowMs);
  const agents = Map.groupBy(rows, (agent) => agent.location_id);
  const agentsAt = (check: Check, place: string) => agents.get(idOf(check, place) ?? '') ?? [];
  const written = new Map(checks.map((check) => [check.id, check]));
  const keysOf = new Map(rows.map((agent) => [agent, agentCapabilities(agent).trustedKeys]));
  const isAnySigning = [...keysOf.values()].some((keys) => keys !== null);
  const atSigning = ({ check, need, places }: (typeof wanted)[number]): AtSigningPlaces[] => {
    const own = written.get(check.id);
    const signing = places.flatMap((place) => {
      const able = agentsAt(check, place).filter((agent) => canRun(agent, need));
      const keys = able.flatMap((agent) => [keysOf.get(agent) ?? null]);
      return keys.length > 0 && keys.every((some) => some !== null) ? [{ place, keys }] : [];
    });
    return own && signing.length > 0 ? [{ check: own, places: signing }] : [];
  };
  const unsigned = await unsignedWarnings(repositories, isAnySigning ? wanted.flatMap(atSigning) : [], now);
  return new Map(
    wanted.flatMap(({ check, need, places }) => {
      const warnings =
        places.length === 0
          ? [noLocation]
          : [
              ...places.flatMap((place) => warningAt(place, need, agentsAt(check, place), places)),
              ...(unsigned.get(check.id) ?? []),
              ...neverDueWarnings(check, now),
            ];
      return warnings.length === 0 ? [] : [[check.id, warnings] as const];
    }),
  );
}

const noLocation: Warning = {
  code: 'NO_LOCATION',
  message:
    'The check is activated and has no location, so it never runs. Name one in "privateLocations" of the check or of its group.',
};

export const isRegion = (place: string): boolean => (regions as readonly string[]).includes(place);

/** Needs of a run as messages name them. */
export function typeWithRuntime(need: Need): string {
  const { runtimeId, browsers } = needOfText(need.runtimeId);
  const parts = [...(runtimeId === null ? [] : [`the runtime ${runtimeId}`]), ...browsers];
  return `type ${need.checkType}${parts.length === 0 ? '' : ` with ${parts.join(' and ')}`}`;
}

/** Why a check does not run at one of its locations. */
function warningAt(
  place: string,
  need: Need,
  agents: readonly AgentRow[],
  places: readonly string[],
): Warning[] {
  if (agents.length === 0) {
    const message = isRegion(place)
      ? `No agent serves the location ${place}: agents belong to private locations. ${places.every(isRegion) ? 'Name one in "privateLocations".' : 'Remove it from "locations", where agentic checks have it by default: with [] only the private ones are left.'}`
      : `No agent of the private location ${place} was seen in the last two minutes. Start one with a key of it.`;
    return [{ code: 'NO_AGENT', message }];
  }
  if (agents.some((agent) => canRun(agent, need))) return [];
  const settings = findCheckType(need.checkType)?.needsModel
    ? ' It needs an agent with a model: MODEL_URL and MODEL_NAME.'
    : '';
  const { browsers } = needOfText(need.runtimeId);
  const advice =
    browsers.length > 0
      ? `If a browser is missing on its host, ${howToInstall(browsers)}.`
      : 'Run "picket doctor" on its host to see the reason; other images have more runtimes.';
  const message = `No agent of the private location ${place} can run checks of ${typeWithRuntime(need)}. ${advice}${settings}`;
  return [{ code: 'UNSUPPORTED', message }];
}
