import { randomBytes } from 'node:crypto';
import { previewedHeaders } from '../elements/preview-frame.ts';
import type { Problems } from '../forms/problems.ts';
import type { PageAnswer, PageCall } from '../page.ts';
import { publicHeaders, publicNotice } from './document.ts';

/**
 * Sends the page of a form's values to the preview frame, or the problems that prevent it.
 *
 * @param document of the page, with its style under the nonce.
 */
export function sendPreview(
  { reply, assets }: Pick<PageCall, 'reply' | 'assets'>,
  shown:
    | { readonly problems: Problems }
    | {
        readonly images: readonly (string | null)[];
        readonly document: (nonce: string) => string;
      },
): PageAnswer {
  const nonce = randomBytes(16).toString('base64');
  const headers = publicHeaders('images' in shown ? shown.images : []);
  const policy = headers['content-security-policy'] ?? '';
  reply.headers({ ...headers, ...previewedHeaders(policy, nonce), 'cache-control': 'no-store' });
  reply.removeHeader('link').removeHeader('content-range').type('text/html; charset=utf-8');
  if ('document' in shown) reply.send(shown.document(nonce));
  else {
    const { message, fields } = shown.problems;
    const said = [message, ...[...fields].map(([field, text]) => `${field}: ${text}`)];
    const text = said.filter((part) => part !== '').join(' ');
    reply.send(publicNotice(assets, { title: 'Not a page yet', text, isStill: true }));
  }
  return 'answered';
}
