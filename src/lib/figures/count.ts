/** How many, with commas between thousands. */
export function countText(count: number): string {
  return count.toLocaleString('en-US');
}

/** `1 check`, `1,204 checks`. */
export function counted(count: number, one: string, several = `${one}s`): string {
  return `${countText(count)} ${count === 1 ? one : several}`;
}
