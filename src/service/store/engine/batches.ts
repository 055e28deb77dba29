const sizes = [64, 16, 4, 1] as const;

/**
 * Rows cut into batches of a few fixed sizes. An insert of many rows is one statement, but its text depends on how many
 * there are; with four sizes there are four texts to prepare and keep, not one for every number.
 */
export function* batches<Row>(rows: readonly Row[]): Generator<readonly Row[]> {
  let start = 0;
  for (const size of sizes) {
    while (rows.length - start >= size) {
      yield rows.slice(start, start + size);
      start += size;
    }
  }
}
