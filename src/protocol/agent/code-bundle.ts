import { codeBundleKey } from '@picket/checks/contract/code-bundle.ts';
import { z } from 'zod';
import { created, defineRoute, noContent, successful } from '../http/route.ts';

/**
 * Code bundles: the archives that Playwright suites run from. They are uploaded once, checks name them by
 * key, and agents fetch them by it. A key identifies the content, so the bytes of one never change.
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

export const codeBundleRoutes = {
  uploadCodeBundle: defineRoute({
    method: 'POST',
    path: '/v1/code-bundles',
    operationId: 'uploadCodeBundle',
    otherErrors: [400],
    summary:
      'Upload the tar.gz of a Playwright suite; with the header x-bundle-checksum-sha256 (hexadecimal or base64) the service verifies it',
    tag: 'Code bundles',
    credential: 'account',
    isBodyRaw: true,
    success: created,
    response: CodeBundle,
  }),
  getCodeBundle: defineRoute({
    method: 'GET',
    path: '/v1/code-bundles/{key}',
    operationId: 'getCodeBundle',
    summary: 'Download a code bundle',
    tag: 'Code bundles',
    credential: 'account',
    params: z.object({ key }),
    isResponseRaw: true,
    success: successful,
  }),
  deleteCodeBundle: defineRoute({
    method: 'DELETE',
    path: '/v1/code-bundles/{key}',
    operationId: 'deleteCodeBundle',
    summary: 'Delete a code bundle that no check uses',
    tag: 'Code bundles',
    credential: 'account',
    params: z.object({ key }),
    otherErrors: [409],
    success: noContent,
  }),
};

const storageRoute = { tag: 'Code bundles', credential: 'account' } as const;

/** The same for clients of the field, and single files: what screenshots are compared with. */
export const clientStorageRoutes = {
  uploadClientBundle: defineRoute({
    ...storageRoute,
    method: 'POST',
    path: '/next/checkly-storage/upload-code-bundle',
    operationId: 'uploadClientBundle',
    otherErrors: [400],
    summary: 'Upload the tar.gz of a Playwright suite, in the format of existing command-line clients',
    isBodyRaw: true,
    success: created,
    response: z.object({ key: z.string().describe('The `codeBundlePath` of checks') }),
  }),
  uploadClientFile: defineRoute({
    ...storageRoute,
    method: 'POST',
    path: '/next/checkly-storage/upload',
    operationId: 'uploadClientFile',
    otherErrors: [400],
    summary: 'Upload a reference screenshot of a browser check',
    isBodyRaw: true,
    success: created,
    response: z.object({ key: z.string().describe('The `key` in `snapshots` of checks') }),
  }),
  downloadClientFile: defineRoute({
    ...storageRoute,
    method: 'POST',
    path: '/next/checkly-storage/download',
    operationId: 'downloadClientFile',
    otherErrors: [404],
    summary: 'Download an upload, or a screenshot of a run of a test session, by its key',
    body: z.object({ key: z.string().max(400) }),
    isReadOnly: true,
    isResponseRaw: true,
    success: successful,
  }),
  peekClientBundle: defineRoute({
    ...storageRoute,
    method: 'POST',
    path: '/next/checkly-storage/peek-code-bundle',
    operationId: 'peekClientBundle',
    otherErrors: [404],
    summary: 'Check that a code bundle exists: 404 if not',
    body: z.object({ key }),
    isReadOnly: true,
    success: successful,
    response: z.object({ key: z.string(), contentLength: z.int().describe('Bytes') }),
  }),
};

export const agentBundleRoutes = {
  fetchCodeBundle: defineRoute({
    method: 'GET',
    path: '/v1/agent/code-bundles/{key}',
    operationId: 'fetchCodeBundle',
    summary: 'The code bundle of a leased check',
    tag: 'Agent protocol',
    credential: 'location',
    params: z.object({ key }),
    isResponseRaw: true,
    success: successful,
  }),
};
