const comparedLength = 500;

/** From which likeness on two cleaned messages are the same error (check model 3.7). */
const alikeFrom = 0.8;

/**
 * Whether two cleaned messages are at least 80 % alike: 1 minus the Levenshtein distance of their first 500
 * characters by the length of the longer one. Texts that cannot be are recognised without counting, and the count
 * ends where it is clear.
 */
export function areAlike(left: string, right: string): boolean {
  const a = left.slice(0, comparedLength);
  const b = right.slice(0, comparedLength);
  const longest = Math.max(a.length, b.length);
  if (longest === 0) return true;
  // Floating point: (1 - 0.8) * 10 is a little under 2.
  const maxDistance = Math.floor((1 - alikeFrom) * longest + 1e-9);
  if (Math.abs(a.length - b.length) > maxDistance) return false;
  return distanceWithin(a, b, maxDistance);
}

/**
 * Whether the Levenshtein distance of two texts is at most `max`: only the diagonal band that can be is
 * computed.
 */
function distanceWithin(a: string, b: string, max: number): boolean {
  const beyond = max + 1;
  let previous = Array.from({ length: b.length + 1 }, (_, index) => Math.min(index, beyond));
  for (let row = 1; row <= a.length; row += 1) {
    const current = new Array<number>(b.length + 1).fill(beyond);
    const first = Math.max(1, row - max);
    const last = Math.min(b.length, row + max);
    if (row <= max) current[0] = row;
    let best = current[0] ?? beyond;
    for (let column = first; column <= last; column += 1) {
      const replaced = (previous[column - 1] ?? beyond) + (a[row - 1] === b[column - 1] ? 0 : 1);
      const added = (current[column - 1] ?? beyond) + 1;
      const removed = (previous[column] ?? beyond) + 1;
      const distance = Math.min(replaced, added, removed, beyond);
      current[column] = distance;
      if (distance < best) best = distance;
    }
    if (best > max) return false;
    previous = current;
  }
  return (previous[b.length] ?? beyond) <= max;
}
