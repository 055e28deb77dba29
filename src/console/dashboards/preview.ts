import { previewRoutes } from '@picket/protocol/pages/preview.ts';
import { attempt } from '../forms/problems.ts';
import type { PageAnswer, PageCall } from '../page.ts';
import { dashboardDocument } from '../public/dashboards/files.ts';
import { sendPreview } from '../public/previewed.ts';
import { bodyOf } from './editor.ts';

/** Shows the first page of the dashboard with the form's values, without saving. */
export async function previewDashboard(call: PageCall): Promise<PageAnswer> {
  const { api, form, assets } = call;
  const { done: data, problems } = await attempt(() =>
    api.call(previewRoutes.previewDashboard, { body: bodyOf(form) }),
  );
  if (problems) return sendPreview(call, { problems });
  const { logo, favicon, customCSS } = data.dashboard;
  return sendPreview(call, {
    images: [logo, favicon],
    document: (nonce) =>
      dashboardDocument(data, {
        assets,
        pageHref: () => '#',
        isStill: true,
        ...(customCSS ? { style: { nonce, css: customCSS } } : {}),
      }),
  });
}
