import { checkTypes, findCheckType } from '@picket/checks/index.ts';
import type { Room } from '../../run/contracts.ts';

const suiteTypes = checkTypes.filter(({ needsSuites }) => needsSuites).map(({ name }) => name);

/**
 * Room for one suite at a time, where runs share the host's network: a suite with `reuseExistingServer` would
 * test the web server of another. One claim brings one run then, which may be a suite; the next claim follows
 * at once.
 *
 * @param running check types of the runs under way.
 */
export function suitesApart(room: Room, running: readonly string[]): Room {
  if (!running.some((name) => findCheckType(name)?.needsSuites)) {
    const isSuiteOpen = suiteTypes.some((name) => !room.fullTypes.includes(name));
    return isSuiteOpen ? { ...room, count: Math.min(1, room.count) } : room;
  }
  return { ...room, fullTypes: [...new Set([...room.fullTypes, ...suiteTypes])] };
}
