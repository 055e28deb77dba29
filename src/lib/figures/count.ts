/** How many, with commas between thousands. */
export function countText(count: number): string {
  return count.toLocaleString('en-US');
}

/** A number with some digits behind the point, with commas between thousands: `10,000.5`. */
export function decimalText(value: number, digits: number): string {
  return value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/** `1 check`, `1,204 checks`. */
export function counted(count: number, one: string, several = `${one}s`): string {
  return `${countText(count)} ${count === 1 ? one : several}`;
}
