import { checkTypes, findCheckType } from '@picket/checks/index.ts';
import type { Room } from '../../run/contracts.ts';

const suiteTypes = checkTypes.filter(({ needsSuites }) => needsSuites).map(({ name }) => name);

/**
 * Limits room to one suite at a time if runs share the host's network: a suite with `reuseExistingServer` would test
 * the web server of another. While a suite may be leased, a claim returns only one run; the next claim follows at once.
 *
 * @param running check types of the active runs.
 */
export function suitesApart(room: Room, running: readonly string[]): Room {
  if (!running.some((name) => findCheckType(name)?.needsSuites)) {
    const isSuiteOpen = suiteTypes.some((name) => !room.fullTypes.includes(name));
    return isSuiteOpen ? { ...room, count: Math.min(1, room.count) } : room;
  }
  return { ...room, fullTypes: [...new Set([...room.fullTypes, ...suiteTypes])] };
}
