/** The trial, from downloads to cluster; see ../cluster-trial.ts, which starts this. `main.ts CACHE CONTROL-GROUP try|build`. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { provideKubernetes } from './kubernetes-programs.ts';
import { rejectOn, runStage, stopSignal } from './stage-process.ts';
import { provideImages } from './trial-images.ts';

const [cache = '', controlGroup = '', what = ''] = process.argv.slice(2);
const signal = stopSignal();
process.exit(await main());

async function main(): Promise<number> {
  try {
    await Promise.race([provide(), rejectOn(signal)]);
  } catch (thrown) {
    if (signal.aborted) return 130;
    throw thrown;
  }
  if (what === 'build') return 0;
  const state = join(cache, 'state');
  await rm(state, { recursive: true, force: true });
  // In a network of its own, so that bridges, rules and settings of this machine's stay as they are.
  const script = join(import.meta.dirname, 'trial.ts');
  const code = await runStage(['--net'], script, [cache, state, controlGroup], signal);
  if (code === 0 || signal.aborted) await rm(state, { recursive: true, force: true });
  else console.log(`Logs of all parts are in ${join(state, 'logs')}`);
  return code;
}

async function provide(): Promise<void> {
  console.log('Kubernetes');
  await provideKubernetes(cache);
  console.log('Images');
  await provideImages(cache);
}
