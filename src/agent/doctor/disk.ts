import { mkdir, mkdtemp, rm, statfs, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { errorCodeOf, toError } from '@picket/lib/errors.ts';
import { SpoolFolder } from '../delivery/spool/spool-folder.ts';
import type { Examination } from './examination.ts';
import { ok, problem, type Verdict, warning } from './examination.ts';
import { whyNoScripts } from './offered-types.ts';

/** Size of the test file, and free space required beyond it. */
const tryBytes = 1024 * 1024;
const tryName = 'try';
const minFreeBytes = 50 * 1024 * 1024;

/** The folders the agent writes to. */
export const disk: Examination = {
  name: 'disk',
  async examine({ settings }) {
    const { spoolDir, spoolMaxBytes, scripts } = settings;
    const verdicts = [
      await examineFolder(spoolDir, { variable: 'SPOOL_DIR', wantedBytes: spoolMaxBytes, open: openSpool }),
    ];
    if ((await whyNoScripts(settings)) === undefined) {
      verdicts.push(await examineFolder(scripts.directory, { variable: 'SCRIPTS_DIR', open: openPlain }));
    }
    if (tmpdir() !== spoolDir)
      verdicts.push(await examineFolder(tmpdir(), { variable: 'TMPDIR', open: openPlain }));
    return verdicts;
  },
};

interface OpenFolder {
  readonly path: string;
  remove(): Promise<void>;
}

/** Opens the spool as the agent does at start: with a lock, which some file systems do not support. */
async function openSpool(directory: string): Promise<OpenFolder> {
  const folder = SpoolFolder.open(directory, 'doctor');
  return {
    path: folder.path,
    remove: async () => {
      await rm(join(folder.path, tryName), { force: true });
      folder.close();
    },
  };
}

async function openPlain(parent: string): Promise<OpenFolder> {
  await mkdir(parent, { recursive: true, mode: 0o711 });
  const path = await mkdtemp(join(parent, '.picket-doctor-'));
  return { path, remove: () => rm(path, { recursive: true, force: true }) };
}

async function examineFolder(
  path: string,
  how: {
    readonly variable: string;
    readonly wantedBytes?: number;
    readonly open: (path: string) => Promise<OpenFolder>;
  },
): Promise<Verdict> {
  const { variable, wantedBytes } = how;
  try {
    const folder = await how.open(path);
    try {
      await writeFile(join(folder.path, tryName), Buffer.alloc(tryBytes, 1), { flush: true });
    } finally {
      await folder.remove();
    }
    const freeBytes = await freeBytesOf(path);
    const detail = `${path}: ${sizeText(freeBytes)} free`;
    if (freeBytes < minFreeBytes)
      return problem(`${detail}, nearly full`, fixFor('ENOSPC', variable), variable);
    if (wantedBytes !== undefined && freeBytes < wantedBytes) {
      const fix = `Give ${variable} more space, or lower SPOOL_MAX_BYTES to the free space.`;
      return warning(`${detail}, less than SPOOL_MAX_BYTES (${sizeText(wantedBytes)})`, fix, variable);
    }
    return ok(detail, variable);
  } catch (thrown) {
    const code = errorCodeOf(thrown) ?? '';
    return problem(`${path}: ${words[code] ?? toError(thrown).message}`, fixFor(code, variable), variable);
  }
}

const words: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full',
  EDQUOT: 'the quota is used up',
  EROFS: 'the file system is read-only',
  EACCES: 'the user of the agent may not write there',
  EPERM: 'the user of the agent may not write there',
  ENOENT: 'the folder above it does not exist',
  ENOTDIR: 'is no folder',
  EEXIST: 'is no folder',
};

function fixFor(code: string, variable: string): string {
  switch (code) {
    case 'ENOSPC':
    case 'EDQUOT':
      return `Free some of it, or set ${variable} to a folder with more room.`;
    case 'EROFS':
      return `Mount a writable volume there (Kubernetes: an emptyDir), or set ${variable} to a writable folder.`;
    case 'EACCES':
    case 'EPERM':
      return `Make user ${process.getuid?.() ?? 'of the agent'} its owner (Kubernetes: fsGroup), or set ${variable} to another folder.`;
    default:
      return `Set ${variable} to a folder the agent can write to.`;
  }
}

async function freeBytesOf(path: string): Promise<number> {
  const { bavail, bsize } = await statfs(path);
  return bavail * bsize;
}

export function sizeText(bytes: number): string {
  return bytes >= 1e9 ? `${(bytes / 1e9).toFixed(1)} GB` : `${Math.round(bytes / 1e6)} MB`;
}
