import type { ProbeMeasurement } from '../../../src/probes/kernel-thread/socket-watch.ts';

const attempts = 20;

/**
 * Returns the first of several measurements with kernel timestamps, plus its duration as this thread saw it. On a busy
 * machine the timestamp thread may stall, and a measurement then has event times only: those are not the subject of
 * these tests.
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
