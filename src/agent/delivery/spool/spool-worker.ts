/**
 * Entry of the spool thread: the disk may be slow, and no other part of the agent waits for it. Requests are handled
 * one at a time.
 */
import { mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import { errorCodeOf, toError } from '@picket/lib/errors.ts';
import { artifactFolderOf } from '../artifacts/run-folder.ts';
import { SpoolFolder } from './spool-folder.ts';
import type {
  SpoolAnswer,
  SpoolCall,
  SpoolFacts,
  SpoolReplies,
  SpoolRequest,
  SpoolStart,
} from './spool-message.ts';
import { SpoolStore } from './spool-store.ts';

if (!parentPort) throw new Error('spool-worker runs in a worker thread only');
const port = parentPort;
const { directory, tag, maxBytes } = workerData as SpoolStart;

const trialBytes = 64 * 1024;

let opened:
  | { readonly folder: SpoolFolder; readonly store: SpoolStore; readonly foreignFolders: number }
  | undefined;

port.on('message', ({ id, request }: SpoolCall) => {
  let outcome: { value: SpoolReplies[keyof SpoolReplies] } | { problem: string };
  try {
    outcome = { value: answer(request) };
  } catch (thrown) {
    outcome = { problem: problemOf(thrown) };
  }
  port.postMessage({ id, facts: facts(), ...outcome } satisfies SpoolAnswer);
  if (request.op === 'close') port.close();
});

function answer(request: SpoolRequest): SpoolReplies[keyof SpoolReplies] {
  if (request.op === 'open') return open();
  if (!opened) throw new Error('the spool folder is not open');
  const { store, folder } = opened;
  switch (request.op) {
    case 'append':
      return store.append(
        request.items.map(({ kind, atMs, text }) => ({ kind, atMs, body: Buffer.from(text) })),
      );
    case 'take':
      return store
        .take(request.limits, request.notBeforeMs)
        .map(({ ref, body }) => ({ ref, text: body.toString() }));
    case 'release':
      return store.release(request.refs);
    case 'settle':
      store.settle(request.refs);
      return undefined;
    case 'close':
      store.close();
      removeIfEmpty(join(folder.path, 'artifacts'));
      folder.close();
      opened = undefined;
      return undefined;
  }
}

/** Checks whether files can be written: a full or read-only disk fails only then. */
function tryWriting(folder: SpoolFolder): void {
  const path = join(folder.path, 'trial');
  try {
    writeFileSync(path, Buffer.alloc(trialBytes), { mode: 0o600, flush: true });
  } finally {
    rmSync(path, { force: true });
  }
}

/** Locks a folder, loads its contents, and adopts the folders of the location's agents that no longer run. */
function open(): undefined {
  if (opened) {
    tryWriting(opened.folder);
    return undefined;
  }
  const folder = SpoolFolder.open(directory, tag);
  try {
    tryWriting(folder);
    const artifacts = join(folder.path, 'artifacts');
    mkdirSync(artifacts, { recursive: true, mode: 0o700 });
    const store = new SpoolStore({ folder: folder.path, maxBytes });
    const wanted = new Set<string>();
    const noteArtifacts = (body: Buffer) => {
      const name = artifactFolderOf(body);
      if (name !== undefined) wanted.add(name);
    };
    store.load(noteArtifacts);
    for (const left of SpoolFolder.takeLeft(directory, tag, folder)) {
      moveAll(join(left.path, 'artifacts'), artifacts);
      store.adopt(left.path, noteArtifacts);
      left.close();
    }
    for (const name of readdirSync(artifacts)) {
      if (!wanted.has(name)) rmSync(join(artifacts, name), { recursive: true, force: true });
    }
    opened = { folder, store, foreignFolders: SpoolFolder.countForeign(directory, tag) };
  } catch (thrown) {
    folder.close();
    throw thrown;
  }
  return undefined;
}

function moveAll(from: string, to: string): void {
  let names: string[];
  try {
    names = readdirSync(from);
  } catch (thrown) {
    if (errorCodeOf(thrown) === 'ENOENT') return;
    throw thrown;
  }
  for (const name of names) {
    // An existing folder belongs to the same run and lease.
    rmSync(join(to, name), { recursive: true, force: true });
    renameSync(join(from, name), join(to, name));
  }
  rmSync(from, { recursive: true });
}

function removeIfEmpty(folder: string): void {
  try {
    if (readdirSync(folder).length === 0) rmSync(folder, { recursive: true });
  } catch (thrown) {
    if (errorCodeOf(thrown) === undefined) throw thrown;
  }
}

function facts(): SpoolFacts | undefined {
  if (!opened) return undefined;
  const { folder, store, foreignFolders } = opened;
  const { open: openCount, pending: pendingCount } = store.counts;
  return {
    folder: folder.path,
    openCount,
    pendingCount,
    sizeBytes: store.sizeBytes,
    oldestAtMs: store.oldestAtMs,
    losses: { ...store.losses },
    foreignFolders,
  };
}

/** Messages of the file system contain paths; the code is enough. */
function problemOf(thrown: unknown): string {
  const code = errorCodeOf(thrown);
  if (code === 'ERR_SQLITE_ERROR') return `the folder cannot be locked (${toError(thrown).message})`;
  return code ?? toError(thrown).message;
}
