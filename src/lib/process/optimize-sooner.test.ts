import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';

/** Bit of V8's optimization status: compiled by the best compiler. */
const isBest = 1 << 6;
/** V8 needs 400 with our number, and 1,200 with its own. */
const mostCalls = 900;

it('makes V8 compile a function with its best compiler after fewer calls', () => {
  const program = `
    import { optimizeSooner } from ${JSON.stringify(new URL('./optimize-sooner.ts', import.meta.url).href)};
    optimizeSooner(0);
    await new Promise((resolve) => setTimeout(resolve, 5));
    const values = [1, 2, 3, 4, 5, 6, 7, 8];
    function sum(all) { let total = 0; for (const one of all) total += one; return total; }
    let calls = 0;
    while (calls < ${mostCalls} && !(%GetOptimizationStatus(sum) & ${isBest})) {
      sum(values);
      calls += 1;
      // Another thread compiles meanwhile.
      if (calls % 100 === 0) await new Promise((resolve) => setTimeout(resolve, 300));
    }
    console.log(calls < ${mostCalls});`;
  const options = ['--allow-natives-syntax', '--input-type=module', '--eval', program];
  expect(execFileSync(process.execPath, options, { encoding: 'utf8' }).trim()).toBe('true');
});
