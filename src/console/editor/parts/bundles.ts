import { AppError } from '@picket/lib/errors.ts';
import { codeBundleRoutes } from '@picket/protocol/agent/code-bundle.ts';
import { bytes, utc } from '../../elements/format.ts';
import type { FieldWords } from '../../forms/view.ts';
import { html } from '../../html.ts';
import type { PageAnswer, PageCall } from '../../page.ts';

const { listCodeBundles, uploadCodeBundle } = codeBundleRoutes;
const mostShown = 100;

/** Returns the uploaded bundles to choose from, and the control that uploads another one. */
export async function bundleChoices({ api, viewer }: PageCall): Promise<Partial<FieldWords>> {
  const bundles = await api.call(listCodeBundles, { query: { limit: mostShown } });
  return {
    choices: bundles.map(({ key, contentLength, created_at: at }) => ({
      value: key,
      word: `${utc(at)}, ${bytes(contentLength)}, ${key.slice(0, 8)}`,
    })),
    after: html`<div class="field upload"><label for="field-upload">Upload a suite</label><input id="field-upload" type="file" accept=".tgz,.tar.gz,application/gzip" data-upload="/checks/bundles" data-for="field-codeBundlePath" data-csrf="${viewer.csrfToken}"><p class="hint" role="status">A tar.gz of the project. <code>picket deploy</code> uploads one from a repository.</p></div>`,
  };
}

/** Stores a suite that a script of the form sends, and returns its key. */
export async function uploadBundle({ api, request, reply }: PageCall): Promise<PageAnswer> {
  if (request.headers['content-type'] !== 'application/gzip') {
    throw new AppError('MALFORMED_BODY', 'Send the tar.gz of a suite as the body.');
  }
  try {
    const { key, contentLength } = await api.upload(uploadCodeBundle);
    reply.send({ key, word: `now, ${bytes(contentLength)}, ${key.slice(0, 8)}` });
  } catch (thrown) {
    if (!(thrown instanceof AppError)) throw thrown;
    reply.code(thrown.statusCode).send({ message: thrown.message });
  }
  return 'answered';
}
