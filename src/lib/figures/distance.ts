/** Describes the hop of the target's address and, if a different host responds for it, the hop of that host. */
export function distanceWords(distance: number, lastHop: number): string {
  if (distance === lastHop) return `in hop ${distance}`;
  return `in hop ${distance}, which forwards the probes to a host in hop ${lastHop}`;
}
