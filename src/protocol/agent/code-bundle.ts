import { codeBundleKey } from '@picket/checks/contract/code-bundle.ts';
import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { Paging } from '../http/query.ts';
import { created, defineRoutes, successful } from '../http/route.ts';

/**
 * Code bundles: the archives of Playwright suites. Each is uploaded once; checks refer to it by key, and agents
 * download it by that key. A key identifies the content, so the bytes of a key never change.
 */

const key = z.string().regex(codeBundleKey, 'is not the key of a code bundle');

export const CodeBundle = z
  .object({
    key: z.string().describe('The `codeBundlePath` of checks'),
    contentLength: z.int().describe('Bytes'),
    checksumSha256: z.string().describe('64 hexadecimal digits'),
  })
  .meta({ id: 'CodeBundle' });
export type CodeBundle = z.output<typeof CodeBundle>;

const StoredCodeBundle = CodeBundle.extend({ created_at: z.iso.datetime() }).meta({ id: 'StoredCodeBundle' });

export const codeBundleRoutes = defineRoutes('Code bundles', 'account', {
  listCodeBundles: {
    method: 'GET',
    path: '/v1/code-bundles',
    summary: 'Code bundles of the account, newest first',
    query: z.object(Paging),
    response: lazySchema(() => z.array(StoredCodeBundle)),
  },
  uploadCodeBundle: {
    method: 'POST',
    path: '/v1/code-bundles',
    otherErrors: [400],
    summary:
      'Upload the tar.gz of a Playwright suite; with the header x-bundle-checksum-sha256 (hexadecimal or base64) the service verifies it',
    isBodyRaw: true,
    success: created,
    response: CodeBundle,
  },
  getCodeBundle: {
    method: 'GET',
    path: '/v1/code-bundles/{key}',
    summary: 'Download a code bundle',
    params: z.object({ key }),
    isResponseRaw: true,
    success: successful,
  },
  deleteCodeBundle: {
    method: 'DELETE',
    path: '/v1/code-bundles/{key}',
    summary: 'Delete a code bundle that no check uses',
    params: z.object({ key }),
    otherErrors: [409],
  },
});

/** Uploads for existing command lines: the same archives, and single files such as reference screenshots. */
export const clientStorageRoutes = defineRoutes('Code bundles', 'account', {
  uploadClientBundle: {
    method: 'POST',
    path: '/next/checkly-storage/upload-code-bundle',
    otherErrors: [400],
    summary: 'Upload the tar.gz of a Playwright suite, in the format of existing command-line clients',
    isBodyRaw: true,
    success: created,
    response: z.object({ key: z.string().describe('The `codeBundlePath` of checks') }),
  },
  uploadClientFile: {
    method: 'POST',
    path: '/next/checkly-storage/upload',
    otherErrors: [400],
    summary: 'Upload a reference screenshot of a browser check',
    isBodyRaw: true,
    success: created,
    response: z.object({ key: z.string().describe('The `key` in `snapshots` of checks') }),
  },
  downloadClientFile: {
    method: 'POST',
    path: '/next/checkly-storage/download',
    otherErrors: [404],
    summary: 'Download an upload, or a screenshot of a run of a test session, by its key',
    body: z.object({ key: z.string().max(400) }),
    isReadOnly: true,
    isResponseRaw: true,
    success: successful,
  },
  peekClientBundle: {
    method: 'POST',
    path: '/next/checkly-storage/peek-code-bundle',
    otherErrors: [404],
    summary: 'Check that a code bundle exists: 404 if not',
    body: z.object({ key }),
    isReadOnly: true,
    response: z.object({ key: z.string(), contentLength: z.int().describe('Bytes') }),
  },
});

export const agentBundleRoutes = defineRoutes('Agent protocol', 'location', {
  fetchCodeBundle: {
    method: 'GET',
    path: '/v1/agent/code-bundles/{key}',
    summary: 'The code bundle of a leased check',
    params: z.object({ key }),
    isResponseRaw: true,
    success: successful,
  },
});
