import { artifactFolders } from '@picket/lib/names/artifact-folders.ts';
import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { defineRoutes, successful } from '../http/route.ts';

/**
 * Artifacts: the files a run leaves behind as evidence. A result names its artifacts with size and SHA-256; once the
 * service has accepted the result, the agent sends the bytes of each, and the service shows an artifact when it has all
 * of them.
 */

/**
 * Maximum size of an artifact, in bytes: the 150 MB of spec.md. Like the other sizes of that document (128 KB, 256 KB)
 * it is a power of two, so that a file of 150 MB in either reading is accepted.
 */
export const maxArtifactBytes = 150 * 2 ** 20;

/** How many artifacts one run may send, and how many entries its result may have, refused ones included. */
export const maxArtifactsPerRun = 200;
const maxArtifactEntries = 256;

/** How long after its result an artifact may arrive, in milliseconds; a later one is lost. */
export const artifactWindowMs = 3_600_000;

export const maxArtifactNameLength = 255;

/** Letters, digits, `.`, `_` and `-`, with `/` between folders; no part is empty or consists only of dots. */
export const artifactNamePattern = /^(?!\.+(?:\/|$))[\w.-]+(?:\/(?!\.+(?:\/|$))[\w.-]+)*$/;

export const artifactContentType =
  /^[a-z0-9!#$&^_.+-]{1,64}\/[a-z0-9!#$&^_.+-]{1,64}(?:; ?charset=[a-z0-9-]{1,32})?$/i;

/** Changes to an artifact before it was sent: words and counts, never values. */
const ScrubReport = lazySchema(() =>
  z.record(z.string().max(64), z.union([z.number(), z.boolean(), z.string().max(200)])),
);

/** An artifact as a result names it. */
export const ReportedArtifact = lazySchema(() =>
  z
    .object({
      name: z
        .string()
        .max(maxArtifactNameLength)
        .regex(/^\P{C}+$/u, 'must not be empty or contain control characters'),
      contentType: z.string().max(255),
      sizeBytes: z.int().min(0).nullable().describe('null if unknown'),
      sha256: z
        .string()
        .regex(/^[0-9a-f]{64}$/, 'must be 64 hexadecimal digits in lower case')
        .nullable()
        .describe('Of the bytes sent; null unless the state is awaited'),
      state: z
        .enum(['awaited', 'refused', 'withheld'])
        .describe(
          'awaited: the agent sends it after the result; refused: too large, too many, or not a regular file; withheld: may contain secrets that cannot be removed',
        ),
      reason: z
        .string()
        .max(500)
        .nullable()
        .describe('Why it is not sent; for an archive, which files were omitted, and why'),
      scrub: ScrubReport.schema.nullish().describe('How secrets were removed'),
    })
    .refine(
      ({ state, name, contentType, sizeBytes, sha256 }) =>
        state !== 'awaited' ||
        (artifactNamePattern.test(name) &&
          artifactContentType.test(contentType) &&
          sha256 !== null &&
          sizeBytes !== null &&
          sizeBytes <= maxArtifactBytes),
      'an awaited artifact needs a safe name, a content type, a SHA-256 and a size within the limit',
    )
    .meta({ id: 'ReportedArtifact' }),
);
export type ReportedArtifact = z.infer<typeof ReportedArtifact.schema>;

export const ReportedArtifacts = lazySchema(() => z.array(ReportedArtifact.schema).max(maxArtifactEntries));

export const ArtifactReceipt = lazySchema(() =>
  z
    .object({
      status: z.enum(['stored', 'duplicate']).describe('duplicate: already stored'),
      sizeBytes: z.int(),
      sha256: z.string(),
    })
    .meta({ id: 'ArtifactReceipt' }),
);
export type ArtifactReceipt = z.output<typeof ArtifactReceipt.schema>;

export const artifactRoutes = defineRoutes('Agent protocol', 'location', {
  putArtifact: {
    method: 'PUT',
    path: '/v1/agent/runs/{runId}/artifacts/{name}',
    otherErrors: [409, 422],
    summary: 'Upload an artifact of an accepted result; idempotent, visible only when complete',
    params: lazySchema(() =>
      z.object({
        runId: z.uuid(),
        name: z
          .string()
          .max(maxArtifactNameLength)
          .regex(artifactNamePattern, 'is not a name an artifact may have'),
      }),
    ),
    query: lazySchema(() =>
      z.object({
        leaseNumber: z.coerce.number().int().min(1).describe('Lease of the attempt whose result names it'),
      }),
    ),
    hasPathTail: true,
    isBodyRaw: true,
    response: ArtifactReceipt,
  },
});

export const assetTypes = ['log', 'trace', 'video', 'screenshot', 'pcap', 'report', 'file'] as const;
export type AssetType = (typeof assetTypes)[number];

const typeOfFolder: ReadonlyMap<string, AssetType> = new Map([
  [artifactFolders.trace, 'trace'],
  [artifactFolders.video, 'video'],
  [artifactFolders.screenshot, 'screenshot'],
  [artifactFolders.snapshot, 'screenshot'],
]);

/** Returns the kind of evidence, by which people look for an artifact (check model 3.9). */
export function assetTypeOf(name: string, contentType: string): AssetType {
  const [folder = '', ...rest] = name.split('/');
  const given = rest.length > 0 ? typeOfFolder.get(folder) : undefined;
  if (given !== undefined) return given;
  const file = name.slice(name.lastIndexOf('/') + 1).toLowerCase();
  if (contentType.startsWith('image/')) return 'screenshot';
  if (contentType.startsWith('video/')) return 'video';
  if (/pcap/.test(contentType) || /\.pcap(ng)?$/.test(file)) return 'pcap';
  if (file.endsWith('.zip') && file.includes('trace')) return 'trace';
  if (/\.log$|^logs?\b/.test(file)) return 'log';
  if (/report/.test(file) && /\.(json|html|xml)$/.test(file)) return 'report';
  return 'file';
}

const Asset = lazySchema(() =>
  z
    .object({
      type: z.enum(assetTypes),
      name: z.string(),
      url: z.string().describe('Download URL, for the same credential; relative without PUBLIC_URL'),
      contentType: z.string(),
      sizeBytes: z.int(),
      sha256: z.string(),
      source: z.object({
        type: z.enum(['check-result', 'test-session-result']),
        checkId: z.string(),
        resultId: z.string(),
        testSessionId: z.string().optional().describe('Only for results of test sessions'),
      }),
    })
    .meta({ id: 'Asset' }),
);

const resultParams = { checkId: z.uuid(), checkResultId: z.uuid() };
const sessionResultParams = { id: z.uuid(), resultId: z.uuid() };
const artifactName = z.string().max(maxArtifactNameLength);

const AssetQuery = lazySchema(() =>
  z.object({
    type: z.enum(assetTypes).optional(),
    name: z
      .string()
      .min(1)
      .max(255)
      .optional()
      .describe('Only matching names; `*` stands for any characters'),
  }),
);
export type AssetQuery = z.output<typeof AssetQuery.schema>;

const AssetList = lazySchema(() => z.object({ assets: z.array(Asset.schema) }));

export const assetRoutes = defineRoutes('Check results', 'account', {
  listAssets: {
    method: 'GET',
    path: '/v1/check-results/{checkId}/{checkResultId}/assets',
    summary: 'Complete artifacts of a result',
    params: z.object(resultParams),
    query: AssetQuery,
    response: AssetList,
  },
  getAsset: {
    method: 'GET',
    path: '/v1/check-results/{checkId}/{checkResultId}/assets/{name}',
    summary: 'Download an artifact; supports a single byte range',
    params: z.object({ ...resultParams, name: artifactName }),
    hasPathTail: true,
    isResponseRaw: true,
    success: successful,
  },
  listTestSessionAssets: {
    method: 'GET',
    path: '/v1/test-sessions/{id}/results/{resultId}/assets',
    summary: 'Complete artifacts of a result of a test session',
    tag: 'Test sessions',
    params: z.object(sessionResultParams),
    query: AssetQuery,
    response: AssetList,
  },
  getTestSessionAsset: {
    method: 'GET',
    path: '/v1/test-sessions/{id}/results/{resultId}/assets/{name}',
    summary: 'Download an artifact of a result of a test session; supports a single byte range',
    tag: 'Test sessions',
    params: z.object({ ...sessionResultParams, name: artifactName }),
    hasPathTail: true,
    isResponseRaw: true,
    success: successful,
  },
  openAsset: {
    method: 'GET',
    path: '/v1/open-assets/{accountId}/{resultId}/{name}',
    summary: 'Open an artifact by a signed link, which works without a key for an hour',
    tag: 'Test sessions',
    credential: 'none',
    params: z.object({ accountId: z.uuid(), resultId: z.uuid(), name: artifactName }),
    otherErrors: [403],
    query: z.object({ until: z.string().max(15), signature: z.string().max(64) }),
    hasPathTail: true,
    isResponseRaw: true,
    success: successful,
  },
});
