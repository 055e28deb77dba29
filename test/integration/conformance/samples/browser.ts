import type { ScriptHost } from '../../../../src/sandbox/host/contract.ts';
import type { Samples } from './samples.ts';
import { minimalScript, refusedScripts, startScriptSamples } from './script-samples.ts';

export const samples: Samples = {
  minimal: minimalScript,
  refused: {
    ...refusedScripts,
    'browsers.0': { ...minimalScript, browsers: ['netscape'] },
    browsers: {
      ...minimalScript,
      browsers: ['chromium'],
      playwrightConfig: { use: { browserName: 'firefox' } },
    },
    throttling: { ...minimalScript, browsers: ['firefox'], throttling: { profile: '3G' } },
  },
  // Tests that need a browser: test/system/checks/browser-scripts.test.ts.
  start: async () => {
    const samples = await startScriptSamples();
    return { ...samples, context: { ...samples.context, scripts: withoutBrowser(samples.context?.scripts) } };
  },
};

/** Browser checks refuse to start without a browser; scripts that do not open one only need its path. */
function withoutBrowser(host: ScriptHost | undefined) {
  return (
    host && {
      ...host,
      browser: { directory: '/nonexistent', executablePath: '/nonexistent', startPath: '/nonexistent' },
    }
  );
}
