import { defineCheckType } from '../check-type.ts';
import { BrowserDetail, browserArtifactFields } from '../script/detail.ts';
import { ScriptSpec } from '../script/spec.ts';

export const browser = defineCheckType({
  name: 'BROWSER',
  route: 'browser',
  title: 'Browser check',
  lane: 'script',
  needsBrowser: true,
  needsRuntime: true,
  usesSnippets: true,
  timeoutMs: 240_000,
  isSubMinuteAllowed: false,
  hasNetworkErrors: false,
  spec: ScriptSpec,
  artifactFields: browserArtifactFields,
  detail: BrowserDetail,
  detailKey: 'browserCheckResult',
  load: async () => ({ run: (await import('../script/run.ts')).runBrowserScript }),
});
