import { previewRoutes } from '@picket/protocol/pages/preview.ts';
import { attempt } from '../forms/problems.ts';
import type { PageAnswer, PageCall } from '../page.ts';
import { coloursOf } from '../public/colours.ts';
import { sendPreview } from '../public/previewed.ts';
import { statusDocument } from '../public/status-page.ts';
import { bodyOf } from './editor.ts';

/** Previews the page with the form's values, without saving. */
export async function previewPage(call: PageCall): Promise<PageAnswer> {
  const { api, form, assets } = call;
  const statusPageId = form.get('statusPageId') || undefined;
  const { done: data, problems } = await attempt(() =>
    api.call(previewRoutes.previewStatusPage, {
      body: bodyOf(form),
      query: statusPageId === undefined ? {} : { statusPageId },
    }),
  );
  if (problems) return sendPreview(call, { problems });
  const { logo, logoDark, favicon, themeColors } = data.page;
  return sendPreview(call, {
    images: [logo, logoDark, favicon],
    document: (nonce) =>
      statusDocument(data, {
        assets,
        isStill: true,
        ...(themeColors ? { style: { nonce, css: coloursOf(themeColors) } } : {}),
      }),
  });
}
