import { defineCheckType } from '../check-type.ts';
import { HttpDetail } from '../http-detail.ts';
import { ApiSpec, maskedInApi } from './spec.ts';

export { ApiSpec };

export const api = defineCheckType({
  name: 'API',
  route: 'api',
  title: 'API check',
  lane: 'probe',
  timeoutMs: 30_000,
  isSubMinuteAllowed: true,
  hasNetworkErrors: true,
  spec: ApiSpec,
  masked: maskedInApi,
  artifactFields: ['pcapDataUrl', 'jobAssets'],
  detail: HttpDetail,
  detailKey: 'apiCheckResult',
  load: async () => {
    const { runApi, warmUp } = await import('./run.ts');
    await warmUp();
    return runApi;
  },
});
