import type { ProbeMeasurement } from '../../../src/probes/kernel-thread/socket-watch.ts';

const attempts = 20;

/**
 * The first of several measurements that the kernel's stamps could be had for, with how long it took as this thread saw it. While a machine is
 * so busy that the thread for stamps stands still, a measurement says that it has the times of events: those are no subject of these tests.
 */
export async function measuredByKernel<T extends { readonly measurement: Pick<ProbeMeasurement, 'clock'> }>(
  measure: () => Promise<T>,
): Promise<T & { readonly wallMs: number }> {
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    const startMs = performance.now();
    const measured = await measure();
    const wallMs = performance.now() - startMs;
    if (measured.measurement.clock === 'kernel') return { ...measured, wallMs };
  }
  throw new Error(`none of ${attempts} measurements had the kernel's stamps`);
}
