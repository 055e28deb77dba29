/**
 * The first of several attempts that nothing disturbed, or else the last one: for measurements to which a machine that does
 * other work adds now and then, where what the test looks for would be in every one of them.
 */
export async function undisturbed<T>(
  attempt: () => Promise<T>,
  isDisturbed: (result: T) => boolean,
  attempts = 6,
): Promise<T> {
  const result = await attempt();
  return attempts > 1 && isDisturbed(result) ? undisturbed(attempt, isDisturbed, attempts - 1) : result;
}
