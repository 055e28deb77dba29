const comparedLength = 500;

/** Similarity from which two cleaned messages count as the same error (check model 3.7). */
const alikeFrom = 0.8;

/** Characters are binned by their low bits: different bins imply different characters. */
const bins = 64;
const counts = new Int32Array(bins);

/**
 * Whether two cleaned messages can be similar, judged by their lengths and character counts: changing one character
 * changes two counts by at most one. Cheap, unlike computing the distance.
 */
export function mayBeAlike(left: string, right: string): boolean {
  const a = left.slice(0, comparedLength);
  const b = right.slice(0, comparedLength);
  const maxDistance = maxDistanceOf(a, b);
  if (Math.abs(a.length - b.length) > maxDistance) return false;
  counts.fill(0);
  for (let index = 0; index < a.length; index += 1) add(a.charCodeAt(index), 1);
  for (let index = 0; index < b.length; index += 1) add(b.charCodeAt(index), -1);
  let more = 0;
  let fewer = 0;
  for (const count of counts) {
    if (count > 0) more += count;
    else fewer -= count;
  }
  return Math.max(more, fewer) <= maxDistance;
}

function add(code: number, by: number): void {
  counts[code % bins] = (counts[code % bins] ?? 0) + by;
}

/**
 * Whether two cleaned messages are at least 80 % similar: 1 minus the Levenshtein distance of their first 500
 * characters divided by the length of the longer one. Texts that cannot be similar are rejected early, and the
 * computation stops once the result is certain.
 */
export function areAlike(left: string, right: string): boolean {
  if (!mayBeAlike(left, right)) return false;
  const a = left.slice(0, comparedLength);
  const b = right.slice(0, comparedLength);
  return distanceWithin(a, b, maxDistanceOf(a, b));
}

function maxDistanceOf(a: string, b: string): number {
  // Floating point: (1 - 0.8) * 10 is slightly below 2.
  return Math.floor((1 - alikeFrom) * Math.max(a.length, b.length) + 1e-9);
}

/** Whether the Levenshtein distance of two texts is at most `max`: computes only the relevant diagonal band. */
function distanceWithin(a: string, b: string, max: number): boolean {
  const beyond = max + 1;
  let previous = new Int32Array(b.length + 1);
  for (let column = 0; column <= b.length; column += 1) previous[column] = Math.min(column, beyond);
  let current = new Int32Array(b.length + 1);
  for (let row = 1; row <= a.length; row += 1) {
    current.fill(beyond);
    const first = Math.max(1, row - max);
    const last = Math.min(b.length, row + max);
    if (row <= max) current[0] = row;
    let best = current[0] ?? beyond;
    const character = a.charCodeAt(row - 1);
    for (let column = first; column <= last; column += 1) {
      const replaced = (previous[column - 1] ?? beyond) + (character === b.charCodeAt(column - 1) ? 0 : 1);
      const added = (current[column - 1] ?? beyond) + 1;
      const removed = (previous[column] ?? beyond) + 1;
      const distance = Math.min(replaced, added, removed, beyond);
      current[column] = distance;
      if (distance < best) best = distance;
    }
    if (best > max) return false;
    [previous, current] = [current, previous];
  }
  return (previous[b.length] ?? beyond) <= max;
}
