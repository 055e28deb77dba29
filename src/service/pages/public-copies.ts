import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { ArtifactStore } from '@picket/platform/artifact-store/artifact-store.ts';
import { StatusPageData } from '@picket/protocol/pages/public-page.ts';
import { z } from 'zod';
import { requireKey } from './keys.ts';

/** A status page that has a copy. */
const Copied = z.object({
  address: z.string(),
  /** Custom domain, if any. */
  host: z.string().nullable(),
});
export type CopiedPage = z.output<typeof Copied>;

/** Restricts a copy to holders of a key with one of these hashes; public without any. */
const Keys = z.object({ keyHashes: z.array(z.string()).optional() });
const Index = z.array(Copied);
const folder = 'public-pages';
const indexKey = `${folder}/index`;

/**
 * Copies of status pages in the artifact store, used while the database does not respond: the latest data of each page,
 * and a list of all copies. They contain the API response for a page, not its markup, so that a newer build renders
 * them itself.
 */
export class PublicCopies {
  readonly #artifactStore: ArtifactStore;

  constructor(artifactStore: ArtifactStore) {
    this.#artifactStore = artifactStore;
  }

  /**
   * Latest data of a page, by its address in lower case; undefined if no copy can be read.
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

  /** @param keyHashes for a private page. */
  async keep(address: string, data: StatusPageData, keyHashes?: readonly string[]): Promise<void> {
    await this.#write(keyOf(address), { ...StatusPageData.schema.encode(data), keyHashes });
  }

  async forget(address: string): Promise<void> {
    await this.#artifactStore.remove(keyOf(address));
  }

  /** Pages that have copies. */
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

/** Addresses contain dots, which keys cannot. */
function keyOf(address: string): string {
  return `${folder}/${createHash('sha256').update(address).digest('hex')}`;
}
