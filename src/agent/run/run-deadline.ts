/** How long a runner may take to return after its deadline before it counts as broken. */
export const deadlineGraceMs = 5000;

/**
 * Runs with a deadline that starts now. At the deadline the signal aborts with a TimeoutError; a runner that still does
 * not return is abandoned as broken, so that it cannot hold its place in the lane for ever.
 */
export async function withDeadline<T>(
  timeoutMs: number,
  stop: AbortController,
  run: () => Promise<T>,
): Promise<T> {
  return await new Promise<T>((resolve, reject) => {
    let timer = setTimeout(() => {
      stop.abort(new DOMException(`The deadline of ${timeoutMs} ms has passed`, 'TimeoutError'));
      timer = setTimeout(
        () => reject(new Error(`it did not end at its deadline of ${timeoutMs} ms`)),
        deadlineGraceMs,
      );
    }, timeoutMs);
    // Not Promise.race, which would cost three more promises for each run.
    let running: Promise<T>;
    try {
      running = run();
    } catch (thrown) {
      clearTimeout(timer);
      throw thrown;
    }
    running.then(
      (value) => {
        clearTimeout(timer);
        resolve(value);
      },
      (error: unknown) => {
        clearTimeout(timer);
        reject(error);
      },
    );
  });
}
