import { posix } from 'node:path';
import { artifactFolders } from '@picket/lib/names/artifact-folders.ts';
import type { ReportedTest } from '@picket/sandbox/scripts/events.ts';
import { findLeft, leftFile } from '@picket/sandbox/scripts/left-files.ts';
import { privateFolder } from '@picket/sandbox/scripts/script-process.ts';
import type { ArtifactSink } from '../contract/run-context.ts';

/** The names under which the evidence of a run is kept. */
export interface Evidence {
  readonly screenshots: string[];
  readonly videos: string[];
  readonly traces: string[];
  readonly report: string | null;
  /** Pictures to compare with that the run made, by their place. */
  readonly snapshots: { readonly path: string; readonly artifact: string }[];
}

const maxScreenshots = 50;
const maxOthers = 20;
const maxSnapshots = 100;
/** Where Playwright Test keeps the pictures of a file of tests. */
const snapshotFolder = /-snapshots\/[^/]+$/;
const maxLabelLength = 120;
const recordedFolder = posix.join(privateFolder, 'evidence');

const imageTypes: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  webp: 'image/webp',
};

/**
 * Hands the files a run left to the sink: traces, videos, Playwright's report, screenshots it took of
 * failures and images the script wrote by itself. Nothing of the run may be alive any more.
 *
 * @param ownFiles paths that came with the check and are no evidence.
 */
export async function keepEvidence(options: {
  readonly directory: string;
  readonly tests: readonly ReportedTest[];
  readonly ownFiles: ReadonlySet<string>;
  /** Whether the pictures it compares with are kept: it was to make them anew. */
  readonly areSnapshotsKept?: boolean;
  readonly sink: ArtifactSink;
}): Promise<Evidence> {
  const { directory, sink } = options;
  const names = new Set<string>();
  const seen = new Set<string>();
  const keep = async (folder: string, label: string, path: string, contentType: string, kept: string[]) => {
    const file = await leftFile(directory, path);
    if (!file || seen.has(file.path)) return;
    seen.add(file.path);
    const name = freeName(names, folder, label, posix.extname(path));
    if (await sink.add({ name, contentType, content: { path: file.path } })) kept.push(name);
  };
  const evidence = { screenshots: [] as string[], videos: [] as string[], traces: [] as string[] };
  // Before what tests attach: Playwright attaches the pictures themselves.
  const snapshots: { path: string; artifact: string }[] = [];
  if (options.areSnapshotsKept) {
    const found = await findLeft(directory, {
      extensions: new Set(['png']),
      except: new Set([privateFolder, 'node_modules']),
    });
    for (const path of found.filter((one) => snapshotFolder.test(one)).slice(0, maxSnapshots)) {
      const kept: string[] = [];
      await keep(artifactFolders.snapshot, posix.basename(path, '.png'), path, 'image/png', kept);
      for (const artifact of kept) snapshots.push({ path, artifact });
    }
  }
  for (const { title, attachments } of options.tests) {
    for (const { name, contentType, path } of attachments) {
      const isTrace = name === 'trace' && contentType === 'application/zip';
      if (isTrace && evidence.traces.length < maxOthers) {
        await keep(artifactFolders.trace, title, path, contentType, evidence.traces);
      } else if (contentType.startsWith('video/') && evidence.videos.length < maxOthers) {
        await keep(artifactFolders.video, title, path, 'video/webm', evidence.videos);
      } else if (isImage(contentType) && evidence.screenshots.length < maxScreenshots) {
        await keep(artifactFolders.screenshot, name, path, contentType, evidence.screenshots);
      }
    }
  }
  const images = await findLeft(directory, {
    extensions: new Set(Object.keys(imageTypes)),
    except: new Set([privateFolder, 'node_modules', ...options.ownFiles]),
  });
  for (const path of images.slice(0, maxScreenshots - evidence.screenshots.length)) {
    const extension = posix.extname(path).slice(1).toLowerCase();
    const contentType = imageTypes[extension] ?? 'image/png';
    await keep(
      artifactFolders.screenshot,
      posix.basename(path, posix.extname(path)),
      path,
      contentType,
      evidence.screenshots,
    );
  }
  // Plain scripts have no test to attach anything to; what was recorded of them lies in a folder of its own.
  const recorded = await findLeft(posix.join(directory, recordedFolder), {
    extensions: new Set(['zip', 'png']),
    except: new Set(),
  });
  for (const path of recorded.slice(0, maxOthers)) {
    const [folder, contentType, kept] = path.endsWith('.zip')
      ? ([artifactFolders.trace, 'application/zip', evidence.traces] as const)
      : ([artifactFolders.screenshot, 'image/png', evidence.screenshots] as const);
    await keep(folder, posix.parse(path).name, posix.join(recordedFolder, path), contentType, kept);
  }
  const reports: string[] = [];
  await keep('', 'report', posix.join(privateFolder, 'report.json'), 'application/json', reports);
  return { ...evidence, report: reports[0] ?? null, snapshots };
}

export function isImage(contentType: string): boolean {
  return Object.values(imageTypes).includes(contentType);
}

/** The extension of a file a run names, with its dot. */
export function extensionOf(path: string): string {
  return posix.extname(path);
}

/** A name that the sink takes and no other file of the run has. */
export function freeName(names: Set<string>, folder: string, label: string, extension: string): string {
  // A long label is not cut: half a secret in a name would look like a word.
  const plain = label.length > maxLabelLength ? '' : label.replaceAll(/[^A-Za-z0-9_-]+/g, '-');
  const base = posix.join(folder, plain || 'file');
  const suffix = /^\.[a-z0-9]{1,5}$/i.test(extension) ? extension.toLowerCase() : '';
  let name = `${base}${suffix}`;
  for (let number = 2; names.has(name); number += 1) name = `${base}-${number}${suffix}`;
  names.add(name);
  return name;
}
