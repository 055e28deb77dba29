import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { expect, it } from 'vitest';
import { endWithoutNativeLoads, nativeLoad, shareNativeLoads } from './native-loads.ts';

const module = JSON.stringify(new URL('./native-loads.ts', import.meta.url).href);

it('ends no thread during a load, and lets no load begin meanwhile', async () => {
  shareNativeLoads();
  const hasLoaded = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(
    `import { parentPort, workerData } from 'node:worker_threads';
     import { nativeLoad } from ${module};
     await nativeLoad(async () => {
       parentPort.postMessage('loading');
       await new Promise((resolve) => parentPort.once('message', resolve));
       workerData[0] = 1;
     });`,
    { eval: true, workerData: hasLoaded },
  );
  await once(worker, 'message');
  const said: string[] = [];

  const ending = endWithoutNativeLoads(async () => {
    said.push(`ending, ${hasLoaded[0] === 1 ? 'loaded' : 'in the middle'}`);
    await worker.terminate();
    said.push('ended');
  });
  const later = nativeLoad(() => said.push('later load'));
  worker.postMessage('go on');
  await Promise.all([ending, later]);
  expect(said).toEqual(['ending, loaded', 'ended', 'later load']);
});
