import { posix } from 'node:path';
import { artifactFolders } from '@picket/lib/names/artifact-folders.ts';
import type { ReportedTest } from '@picket/sandbox/scripts/events.ts';
import { findLeft, leftFile } from '@picket/sandbox/scripts/left-files.ts';
import { privateFolder } from '@picket/sandbox/scripts/script-process.ts';
import type { ArtifactSink } from '../contract/run-context.ts';

/** Artifact names of a run's evidence. */
export interface Evidence {
  readonly screenshots: string[];
  readonly videos: string[];
  readonly traces: string[];
  readonly report: string | null;
  /** Reference pictures that the run created, by their path. */
  readonly snapshots: { readonly path: string; readonly artifact: string }[];
}

const maxScreenshots = 50;
const maxOthers = 20;
const maxSnapshots = 100;
/** Folder in which Playwright Test stores the reference pictures of a test file. */
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
 * Hands the files of a run to the sink: traces, videos, Playwright's report, screenshots of failures and images that
 * the script wrote. All processes of the run must have ended.
 *
 * @param ownFiles paths that came with the check and are not evidence.
 */
export async function keepEvidence(options: {
  readonly directory: string;
  readonly tests: readonly ReportedTest[];
  readonly ownFiles: ReadonlySet<string>;
  /** Whether to keep reference pictures, because the run was to update them. */
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
  // Before the attachments of tests: Playwright attaches the pictures themselves.
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
  // Plain scripts have no test with attachments; their recordings are in a folder of their own.
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

/** Returns the extension of a file that a run names, with its dot. */
export function extensionOf(path: string): string {
  return posix.extname(path);
}

/** Returns a name that the sink accepts and that no other file of the run has. */
export function freeName(names: Set<string>, folder: string, label: string, extension: string): string {
  // A long label is omitted, not truncated: masking would not recognize half a secret in a name.
  const plain = label.length > maxLabelLength ? '' : label.replaceAll(/[^A-Za-z0-9_-]+/g, '-');
  const base = posix.join(folder, plain || 'file');
  const suffix = /^\.[a-z0-9]{1,5}$/i.test(extension) ? extension.toLowerCase() : '';
  let name = `${base}${suffix}`;
  for (let number = 2; names.has(name); number += 1) name = `${base}-${number}${suffix}`;
  names.add(name);
  return name;
}
