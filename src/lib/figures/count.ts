/** Formats a count with commas between thousands. */
export function countText(count: number): string {
  return count.toLocaleString('en-US');
}

/** Formats a number with a fixed number of decimals and commas between thousands: `10,000.5`. */
export function decimalText(value: number, digits: number): string {
  return value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/** Formats a count with its noun: `1 check`, `1,204 checks`. */
export function counted(count: number, one: string, several = `${one}s`): string {
  return `${countText(count)} ${count === 1 ? one : several}`;
}
