import type { ScriptHost } from '../../../../src/sandbox/host/contract.ts';
import type { Samples } from './samples.ts';
import { minimalScript, refusedScripts, startScriptSamples } from './script-samples.ts';

export const samples: Samples = {
  minimal: minimalScript,
  refused: refusedScripts,
  // What needs a browser is in test/system/checks/browser-scripts.test.ts.
  start: async () => {
    const samples = await startScriptSamples();
    return { ...samples, context: { ...samples.context, scripts: withoutBrowser(samples.context?.scripts) } };
  },
};

/**
 * Browser checks refuse to start where there is none; scripts that open none need only a place where it would
 * be.
 */
function withoutBrowser(host: ScriptHost | undefined) {
  return (
    host && {
      ...host,
      browser: { directory: '/nonexistent', executablePath: '/nonexistent' },
    }
  );
}
