import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { Lane } from '@picket/checks/contract/check-type.ts';
import type { ArtifactFile, ArtifactSink } from '@picket/checks/contract/run-context.ts';
import { errorCodeOf, toError } from '@picket/lib/errors.ts';
import {
  artifactContentType,
  artifactNamePattern,
  maxArtifactBytes,
  maxArtifactNameLength,
  maxArtifactsPerRun,
  type ReportedArtifact,
} from '@picket/protocol/results/artifact.ts';
import PQueue from 'p-queue';
import type { SealedArtifact, SealedArtifacts } from '../../run/contracts.ts';
import type { Scrubber } from '../../scrub/scrubber.ts';
import type { ArtifactScrubber } from './artifact-scrubber.ts';
import { openSource } from './source-file.ts';

/** Size limit of one run's artifacts on the agent's disk: four of the largest. */
const maxRunBytes = 4 * maxArtifactBytes;
/** Files up to this size are sealed concurrently. */
const smallBytes = 1024 * 1024;
const maxSmallAtOnce = 4;
/** Refusals beyond these are counted, not listed. */
const maxListedRefusals = 50;
/**
 * Time limit for preparing artifacts, by lane; the run keeps its place in the lane meanwhile. Probes leave captures of
 * a megabyte at most, scripts leave traces and videos.
 */
export const sealLimitMs: Readonly<Record<Lane, number>> = { probe: 5000, script: 60_000 };

interface Kept {
  readonly name: string;
  readonly contentType: string;
  readonly rawPath: string;
  readonly path: string;
  readonly sizeBytes: number;
}

/** Outcome of one artifact: its line in the result, and its file if that may be sent. */
interface Sealed {
  readonly reported: ReportedArtifact;
  readonly file?: SealedArtifact;
}

type Entry = { readonly kept: Kept } | { readonly reported: ReportedArtifact };

/**
 * Collects the artifacts of one run, in a folder of its own that is created with the first one.
 *
 * OPEN: `add` copies each file to the folder unchanged. → SEALED by `seal`, once the run is over and all its secrets
 * are known: each file is scrubbed, measured and hashed, the raw copy is removed, and no more files are added. If a
 * file cannot be kept or sent, the reason is recorded; that never stops the run.
 */
export class RunArtifacts implements ArtifactSink {
  readonly #folder: string;
  readonly #scrubber: Scrubber;
  readonly #entries: Entry[] = [];
  readonly #names = new Set<string>();
  #unlistedCount = 0;
  #keptBytes = 0;
  #isSealed = false;
  /** Files are added one at a time, so that the limits on their total hold. */
  #last: Promise<unknown> = Promise.resolve();

  /** @param options.folder must not exist yet. */
  constructor(options: { readonly folder: string; readonly scrubber: Scrubber }) {
    this.#folder = options.folder;
    this.#scrubber = options.scrubber;
  }

  add(file: ArtifactFile): Promise<boolean> {
    const added = this.#last.then(() => this.#add(file));
    this.#last = added;
    return added;
  }

  /** Paths of the files as the run left them; files that it adds later are not included. */
  async rawPaths(): Promise<readonly string[]> {
    await this.#last;
    return this.#entries.flatMap((entry) => ('kept' in entry ? [entry.kept.rawPath] : []));
  }

  /** @returns undefined if the run left no artifact, not even a refused one. */
  async seal(
    artifactScrubber: ArtifactScrubber,
    limitMs: number,
    scrubber = this.#scrubber,
  ): Promise<SealedArtifacts | undefined> {
    await this.#last;
    this.#isSealed = true;
    if (this.#entries.length === 0) return undefined;
    const limit = AbortSignal.timeout(limitMs);
    // Sealing a small file mostly waits for the disk. Large files are sealed one at a time: each needs memory.
    const small = new PQueue({ concurrency: maxSmallAtOnce });
    const large = new PQueue({ concurrency: 1 });
    const sealed = await Promise.all(
      this.#entries.map(async (entry): Promise<Sealed> => {
        if ('reported' in entry) {
          return { reported: { ...entry.reported, name: scrubber.text(entry.reported.name) } };
        }
        const queue = entry.kept.sizeBytes <= smallBytes ? small : large;
        return await queue.add(() => this.#sealNamed(entry.kept, artifactScrubber, limit, scrubber));
      }),
    );
    const files = sealed.flatMap(({ file }) => file ?? []);
    const reported = sealed.map((one) => one.reported);
    if (this.#unlistedCount > 0) {
      reported.push(refusal('(more files)', `${this.#unlistedCount} more files were refused`));
    }
    if (files.length === 0) await rm(this.#folder, { recursive: true, force: true });
    return { folder: this.#folder, files, reported };
  }

  /** Removes all files; for runs whose result is not sent. */
  async discard(): Promise<void> {
    this.#isSealed = true;
    await this.#last;
    await rm(this.#folder, { recursive: true, force: true });
  }

  async #add(file: ArtifactFile): Promise<boolean> {
    if (this.#isSealed) return false;
    const { name } = file;
    const contentType = artifactContentType.test(file.contentType)
      ? file.contentType
      : 'application/octet-stream';
    const number = this.#names.size;
    const nameProblem = this.#nameProblem(name);
    if (nameProblem !== undefined) return this.#refuse(name, nameProblem, contentType);
    const rawPath = join(this.#folder, `${number}.raw`);
    const refused = async (reason: string, sizeBytes: number | null) => {
      await rm(rawPath, { force: true });
      return this.#refuse(name, reason, contentType, sizeBytes);
    };
    let keptBytes = 0;
    try {
      if (number === 0) await mkdir(this.#folder, { recursive: true, mode: 0o700 });
      const { sizeBytes, reason } = await this.#copy(file.content, rawPath);
      if (reason !== undefined) return await refused(reason, sizeBytes);
      keptBytes = sizeBytes ?? 0;
    } catch (thrown) {
      return await refused(diskProblem(thrown), null);
    }
    this.#keptBytes += keptBytes;
    this.#names.add(name);
    const path = join(this.#folder, String(number));
    this.#entries.push({ kept: { name, contentType, rawPath, path, sizeBytes: keptBytes } });
    return true;
  }

  #nameProblem(name: string): string | undefined {
    if (name.length > maxArtifactNameLength)
      return `its name is longer than ${maxArtifactNameLength} characters`;
    if (!artifactNamePattern.test(name)) {
      return 'its name may have letters, digits, ".", "_" and "-", with folders apart by "/"';
    }
    if (this.#scrubber.text(name) !== name) return 'its name contains a secret';
    if (this.#names.has(name)) return 'another artifact of the run has the same name';
    if (this.#names.size >= maxArtifactsPerRun) return `a run has at most ${maxArtifactsPerRun} artifacts`;
    return undefined;
  }

  /** Copies the content; resolves with its size, if known, and the reason if it was refused. */
  async #copy(
    content: ArtifactFile['content'],
    path: string,
  ): Promise<{ readonly sizeBytes: number | null; readonly reason?: string | undefined }> {
    if (content instanceof Uint8Array) {
      const reason = this.#sizeProblem(content.length);
      if (reason === undefined) await writeFile(path, content, { mode: 0o600, flag: 'wx' });
      return { sizeBytes: content.length, reason };
    }
    const source = await openSource(content.path);
    if (!source.file) return { sizeBytes: null, reason: source.reason };
    try {
      const reason = this.#sizeProblem(source.sizeBytes);
      if (reason !== undefined) return { sizeBytes: source.sizeBytes, reason };
      // The file may still grow: one byte beyond the limit is enough to detect that.
      const input = source.file.createReadStream({ start: 0, end: maxArtifactBytes, autoClose: false });
      await pipeline(input, createWriteStream(path, { flags: 'wx', mode: 0o600 }));
      return { sizeBytes: input.bytesRead, reason: this.#sizeProblem(input.bytesRead) };
    } finally {
      await source.file.close();
    }
  }

  #sizeProblem(sizeBytes: number): string | undefined {
    if (sizeBytes > maxArtifactBytes) return tooLarge(sizeBytes);
    if (this.#keptBytes + sizeBytes > maxRunBytes) {
      return `the artifacts of a run may have ${megabytes(maxRunBytes)} together`;
    }
    return undefined;
  }

  #refuse(name: string, reason: string, contentType: string, sizeBytes: number | null = null): false {
    const refusals = this.#entries.length - this.#names.size;
    if (refusals >= maxListedRefusals) this.#unlistedCount++;
    else {
      const shown = shownName(this.#scrubber.text(name));
      this.#entries.push({ reported: { ...refusal(shown, reason), contentType, sizeBytes } });
    }
    return false;
  }

  async #sealNamed(
    kept: Kept,
    artifactScrubber: ArtifactScrubber,
    limit: AbortSignal,
    scrubber: Scrubber,
  ): Promise<Sealed> {
    const shown = scrubber.text(kept.name);
    if (shown === kept.name) return await this.#seal(kept, artifactScrubber, limit);
    await rm(kept.rawPath, { force: true });
    return { reported: refusal(shownName(shown), 'its name contains a secret') };
  }

  async #seal(kept: Kept, artifactScrubber: ArtifactScrubber, limit: AbortSignal): Promise<Sealed> {
    const { name, contentType, rawPath, path } = kept;
    const withheld = async (
      state: 'withheld' | 'refused',
      reason: string,
      sizeBytes: number | null = null,
    ) => {
      await rm(path, { force: true });
      return { reported: { name, contentType, sizeBytes, sha256: null, state, reason } };
    };
    try {
      const scrubbed = await artifactScrubber.scrub(rawPath, path, limit);
      if (!scrubbed.isSendable)
        return await withheld('withheld', scrubbed.reason, (await stat(rawPath)).size);
      // A mask may be longer than the text it replaces.
      const { size: sizeBytes } = await stat(path);
      if (sizeBytes > maxArtifactBytes) return await withheld('refused', tooLarge(sizeBytes), sizeBytes);
      const sha256 = await hashOf(path, limit);
      return {
        reported: {
          name,
          contentType,
          sizeBytes,
          sha256,
          state: 'awaited',
          reason: scrubbed.leftOut,
          scrub: scrubbed.report,
        },
        file: { name, path, sizeBytes, sha256 },
      };
    } catch (thrown) {
      const reason = limit.aborted ? 'it could not be searched for secrets in time' : diskProblem(thrown);
      return await withheld('withheld', reason);
    } finally {
      await rm(rawPath, { force: true });
    }
  }
}

async function hashOf(path: string, signal: AbortSignal): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path, { highWaterMark: 1024 * 1024 }), hash, { signal });
  return hash.digest('hex');
}

function refusal(name: string, reason: string): ReportedArtifact {
  return {
    name,
    contentType: 'application/octet-stream',
    sizeBytes: null,
    sha256: null,
    state: 'refused',
    reason,
  };
}

function tooLarge(sizeBytes: number): string {
  return `it has ${megabytes(sizeBytes)} (${sizeBytes} bytes); an artifact may have ${megabytes(maxArtifactBytes)} (${maxArtifactBytes} bytes)`;
}

/** Formats in the unit of the limit, rounded up so that a size just over the limit does not look allowed. */
function megabytes(sizeBytes: number): string {
  return `${(Math.ceil((sizeBytes / 2 ** 20) * 10) / 10).toFixed(1)} MB`;
}

/** Makes an untrusted name readable: replaces control, format and unassigned characters. */
function shownName(name: string): string {
  const shown = name.slice(0, 200).toWellFormed().replaceAll(/\p{C}/gu, '\uFFFD');
  return shown === '' ? '(no name)' : shown;
}

/** Reports codes only: messages of the file system contain paths. */
function diskProblem(thrown: unknown): string {
  const code = errorCodeOf(thrown);
  if (code === 'ENOSPC' || code === 'EDQUOT') return "there is no room on the agent's disk";
  return `the agent could not keep it (${code ?? toError(thrown).name})`;
}
