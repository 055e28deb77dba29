/** Longer names are not typing errors; comparing them wastes time. */
const maxLength = 64;

/**
 * Returns the known name that was probably meant: the one with the fewest letters to add, drop, replace or swap with
 * their neighbour, at most a third of its length and at most `most`. Ignores letter case and `_`.
 */
export function nearestName(
  written: string,
  known: Iterable<string>,
  most = Number.POSITIVE_INFINITY,
): string | undefined {
  if (written.length > maxLength) return undefined;
  let nearest: { readonly name: string; readonly distance: number } | undefined;
  for (const name of known) {
    const [left, right] = [bare(written), bare(name)];
    const allowed = Math.min(most, Math.max(1, Math.floor(Math.max(left.length, right.length) / 3)));
    if (name.length > maxLength || Math.abs(left.length - right.length) > allowed) continue;
    const distance = distanceOf(left, right);
    if (distance <= allowed && distance < (nearest?.distance ?? Number.POSITIVE_INFINITY)) {
      nearest = { name, distance };
    }
  }
  return nearest?.name;
}

function bare(name: string): string {
  return name.toLowerCase().replaceAll('_', '');
}

/** Damerau–Levenshtein distance of two words (optimal string alignment: no part is edited twice). */
function distanceOf(a: string, b: string): number {
  let beforePrevious: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let row = 1; row <= a.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= b.length; column += 1) {
      const isSame = a[row - 1] === b[column - 1];
      const isSwapped = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      current[column] = Math.min(
        at(previous, column - 1) + (isSame ? 0 : 1),
        at(previous, column) + 1,
        at(current, column - 1) + 1,
        isSwapped ? at(beforePrevious, column - 2) + 1 : Number.POSITIVE_INFINITY,
      );
    }
    beforePrevious = previous;
    previous = current;
  }
  return at(previous, b.length);
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY;
}
