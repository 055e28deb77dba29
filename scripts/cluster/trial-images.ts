import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openEngine } from '../images/engine.ts';
import { buildImage, defaultBase, provideBase, uptimeImage } from '../images/image-build.ts';
import { provideKubernetes } from './kubernetes-programs.ts';

/** What holds the namespaces of a pod. */
export const pauseImage = 'picket-trial/pause:1';

/** Where the engine's packages and its data are. */
export function engineFolder(cacheFolder: string): string {
  return join(cacheFolder, 'docker');
}

export function imageArchive(cacheFolder: string): string {
  return join(cacheFolder, 'images.tar');
}

/** Builds the images that the nodes of the cluster need, and packs them into one archive for its engine. */
export async function provideImages(cacheFolder: string): Promise<void> {
  const folder = engineFolder(cacheFolder);
  await mkdir(folder, { recursive: true });
  await using engine = await openEngine(undefined, folder, { isForBuilding: true });
  const base = defaultBase();
  await provideBase(engine, base, folder);
  await buildImage(engine, uptimeImage, base);
  const context = join(cacheFolder, 'pause');
  await mkdir(context, { recursive: true });
  await copyFile(join(await provideKubernetes(cacheFolder), 'pause'), join(context, 'pause'));
  await writeFile(
    join(context, 'Dockerfile'),
    'FROM scratch\nCOPY pause /\nUSER 65535:65535\nENTRYPOINT ["/pause"]\n',
  );
  await engine.ask(['build', ...engine.buildArgs, '-t', pauseImage, context]);
  await engine.ask(['save', '--output', imageArchive(cacheFolder), uptimeImage.tag, pauseImage]);
}
