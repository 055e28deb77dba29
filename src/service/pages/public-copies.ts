import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { ArtifactStore } from '@picket/platform/artifact-store/artifact-store.ts';
import { StatusPageData } from '@picket/protocol/pages/public-page.ts';
import { z } from 'zod';
import { requireKey } from './keys.ts';

/** A status page of which there is a copy. */
const Copied = z.object({
  address: z.string(),
  /** The host name of its own, if it has one. */
  host: z.string().nullable(),
});
export type CopiedPage = z.output<typeof Copied>;

/** Who may see a copy: those who have a key with one of these hashes; everybody where there are none. */
const Keys = z.object({ keyHashes: z.array(z.string()).optional() });
const Index = z.array(Copied);
const folder = 'public-pages';
const indexKey = `${folder}/index`;

/**
 * Copies of status pages in the artifact store, for when the database does not answer: what each showed last,
 * and a list of all of them. They hold what the API answers of a page, not its markup, so that a newer build
 * shows them in its own way.
 */
export class PublicCopies {
  readonly #artifactStore: ArtifactStore;

  constructor(artifactStore: ArtifactStore) {
    this.#artifactStore = artifactStore;
  }

  /**
   * What a page showed last, by its address in lower case; undefined without a copy that can be read.
   *
   * @throws AppError BAD_TOKEN for a private page without its key.
   */
  async recall(address: string, rawKey: string | undefined): Promise<StatusPageData | undefined> {
    const stored = await this.#read(keyOf(address));
    const [parsed, keys] = [StatusPageData.safeParse(stored), Keys.safeParse(stored)];
    if (!parsed.success || !keys.success) return undefined;
    const { keyHashes } = keys.data;
    if (keyHashes) requireKey('status page', keyHashes, rawKey);
    return parsed.data;
  }

  /** @param keyHashes of a private page. */
  async keep(address: string, data: StatusPageData, keyHashes?: readonly string[]): Promise<void> {
    await this.#write(keyOf(address), { ...StatusPageData.encode(data), keyHashes });
  }

  async forget(address: string): Promise<void> {
    await this.#artifactStore.remove(keyOf(address));
  }

  /** The pages that there are copies of. */
  async list(): Promise<CopiedPage[]> {
    const parsed = Index.safeParse(await this.#read(indexKey));
    return parsed.success ? parsed.data : [];
  }

  async keepList(pages: readonly CopiedPage[]): Promise<void> {
    await this.#write(indexKey, pages);
  }

  async #read(key: string): Promise<unknown> {
    const stream = await this.#artifactStore.open(key);
    return stream === undefined ? undefined : JSON.parse(await text(stream));
  }

  async #write(key: string, value: unknown): Promise<void> {
    const content = Buffer.from(JSON.stringify(value));
    const sha256 = createHash('sha256').update(content).digest('hex');
    await this.#artifactStore.put(key, Readable.from([content]), { sizeBytes: content.length, sha256 });
  }
}

/** Addresses hold dots, keys do not. */
function keyOf(address: string): string {
  return `${folder}/${createHash('sha256').update(address).digest('hex')}`;
}
