/** Where the address of a target is, and where the host is that answered in its name, if that is another one. */
export function distanceWords(distance: number, lastHop: number): string {
  if (distance === lastHop) return `in hop ${distance}`;
  return `in hop ${distance}, which forwards the probes to a host in hop ${lastHop}`;
}
